--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: ledger_keeps_rows(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.ledger_keeps_rows() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ': rows of a ledger are kept as they are'; END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.accounts (
    name text NOT NULL,
    neighbours text NOT NULL,
    stated_delta text NOT NULL,
    rho_limit bigint NOT NULL,
    delta_limit bigint NOT NULL,
    rho_spent bigint NOT NULL,
    delta_spent bigint NOT NULL,
    has_quotas bigint NOT NULL,
    CONSTRAINT delta_within_limit CHECK (((delta_spent >= 0) AND (delta_spent <= delta_limit))),
    CONSTRAINT rho_within_limit CHECK (((rho_spent >= 0) AND (rho_spent <= rho_limit)))
);


--
-- Name: covers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.covers (
    source text NOT NULL,
    account text NOT NULL
);


--
-- Name: entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.entries (
    sequence bigint NOT NULL,
    kind text NOT NULL,
    account text NOT NULL,
    key text NOT NULL,
    analyst text NOT NULL,
    neighbours text NOT NULL,
    verb text NOT NULL,
    digest text NOT NULL,
    about text NOT NULL,
    event text NOT NULL,
    rho bigint NOT NULL,
    delta bigint NOT NULL,
    at text NOT NULL,
    previous text NOT NULL,
    hash text NOT NULL,
    CONSTRAINT costs_are_not_negative CHECK (((rho >= 0) AND (delta >= 0)))
);


--
-- Name: ledger; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ledger (
    id text NOT NULL
);


--
-- Name: ledger_version; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ledger_version (
    version_num character varying(32) NOT NULL
);


--
-- Name: quotas; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.quotas (
    account text NOT NULL,
    analyst text NOT NULL,
    rho_limit bigint NOT NULL,
    delta_limit bigint NOT NULL,
    rho_spent bigint NOT NULL,
    delta_spent bigint NOT NULL,
    CONSTRAINT delta_within_quota CHECK (((delta_spent >= 0) AND (delta_spent <= delta_limit))),
    CONSTRAINT rho_within_quota CHECK (((rho_spent >= 0) AND (rho_spent <= rho_limit)))
);


--
-- Name: results; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.results (
    sequence bigint NOT NULL,
    payload bytea NOT NULL
);


--
-- Data for Name: accounts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.accounts VALUES ('never used', 'add-remove', '1/1000000', 1000000000000000000, 500000000000, 0, 0, 0);
INSERT INTO public.accounts VALUES ('panel', 'replace', '1/100000', 50000000000000, 5000000000000, 1093582766443, 4333333334, 0);
INSERT INTO public.accounts VALUES ('Café', 'add-remove', '1/1000000', 1000000000000, 500000000000, 20000000000, 0, 0);
INSERT INTO public.accounts VALUES ('Café', 'add-remove', '1/10000000', 2000000000000, 50000000000, 20000000000, 0, 0);
INSERT INTO public.accounts VALUES ('mail:ann@example.org', 'add-remove', '1/100000', 50000000000000, 5000000000000, 20000000000, 0, 0);
INSERT INTO public.accounts VALUES ('Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'add-remove', '1/100000', 50000000000000, 5000000000000, 30000000000, 0, 0);
INSERT INTO public.accounts VALUES (' 	人口 👥 ‮odd
name ', 'replace', '1/100000', 50000000000000, 5000000000000, 120000000000, 0, 0);
INSERT INTO public.accounts VALUES ('web', 'add-remove', '1/100000', 50000000000000, 5000000000000, 443479024946, 4333333334, 0);
INSERT INTO public.accounts VALUES ('all spent', 'add-remove', '1/1000000', 30000000000, 500000000000, 30000000000, 0, 0);
INSERT INTO public.accounts VALUES ('shared by a team', 'add-remove', '1/1000000', 175749908261, 500000000000, 12500000000, 0, 1);


--
-- Data for Name: covers; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.covers VALUES ('web.parquet', 'web');
INSERT INTO public.covers VALUES ('events/year=2024/*.csv', 'web');
INSERT INTO public.covers VALUES ('panel.csv', 'panel');
INSERT INTO public.covers VALUES ('spent.csv', 'all spent');
INSERT INTO public.covers VALUES ('Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?');
INSERT INTO public.covers VALUES ('Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?.csv', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?');
INSERT INTO public.covers VALUES (' 	人口 👥 ‮odd
name ', ' 	人口 👥 ‮odd
name ');
INSERT INTO public.covers VALUES ('Café.csv', 'Café');
INSERT INTO public.covers VALUES ('Café.csv', 'Café');
INSERT INTO public.covers VALUES ('mail:ann@example.org/list', 'mail:ann@example.org');


--
-- Data for Name: entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.entries VALUES (1, 'open-account', 'web', '', 'owner', 'add-remove', '', '', '', '{"stated_delta": "1/100000"}', 50000000000000, 5000000000000, '2026-11-15T21:53:00+00:00', '02b57d1ff0235c4f1307e3cea3afaa25d84e466b084fc9c4628c1a04427802bd', 'eb63835c22421a3ce442371503f6587e30cec1a9424afaa81f29843a480fe695');
INSERT INTO public.entries VALUES (2, 'cover', 'web', 'web.parquet', 'owner', '', '', '', '', '', 0, 0, '2026-11-15T21:53:00+00:00', 'eb63835c22421a3ce442371503f6587e30cec1a9424afaa81f29843a480fe695', '61cc9562d2d52c6d5d9c4b66046dccae3a04d498a020f9fd2cf0e31b2b448796');
INSERT INTO public.entries VALUES (3, 'cover', 'web', 'events/year=2024/*.csv', 'owner', '', '', '', '', '', 0, 0, '2026-11-15T21:53:00+00:00', '61cc9562d2d52c6d5d9c4b66046dccae3a04d498a020f9fd2cf0e31b2b448796', '09404bdccc11872df71d7917c25a9aef73cf06b0529e9bc83e4a3cd9a6bf91fd');
INSERT INTO public.entries VALUES (4, 'open-account', 'panel', '', 'owner', 'replace', '', '', '', '{"stated_delta": "1/100000"}', 50000000000000, 5000000000000, '2026-11-15T21:53:00+00:00', '09404bdccc11872df71d7917c25a9aef73cf06b0529e9bc83e4a3cd9a6bf91fd', '5a8d1098adc254c8983537a716268935e9fb136a4d53d010bab08f3636c3b758');
INSERT INTO public.entries VALUES (5, 'cover', 'panel', 'panel.csv', 'owner', '', '', '', '', '', 0, 0, '2026-11-15T21:53:00+00:00', '5a8d1098adc254c8983537a716268935e9fb136a4d53d010bab08f3636c3b758', '1f6c3573d192e875b0ee5b3280fff55e725e2f8a78c9b5ece33ad683bc6b5c5b');
INSERT INTO public.entries VALUES (6, 'open-account', 'shared by a team', '', 'owner', 'add-remove', '', '', '', '{"stated_delta": "1/1000000"}', 175749908261, 500000000000, '2026-11-15T21:53:00+00:00', '1f6c3573d192e875b0ee5b3280fff55e725e2f8a78c9b5ece33ad683bc6b5c5b', '43936c0f0b7a97ed009229736498ee93f2601a71df741deba00cdedf581231c1');
INSERT INTO public.entries VALUES (7, 'open-account', 'all spent', '', 'owner', 'add-remove', '', '', '', '{"stated_delta": "1/1000000"}', 30000000000, 500000000000, '2026-11-15T21:53:00+00:00', '43936c0f0b7a97ed009229736498ee93f2601a71df741deba00cdedf581231c1', 'f4e413e6addb04f3fcad27409a6c3010cc912ae53ad5252b2f92d868c9bd2b9f');
INSERT INTO public.entries VALUES (8, 'cover', 'all spent', 'spent.csv', 'owner', '', '', '', '', '', 0, 0, '2026-11-15T21:53:00+00:00', 'f4e413e6addb04f3fcad27409a6c3010cc912ae53ad5252b2f92d868c9bd2b9f', '8a7cc2c1d735d05a660ef0d88f1a21e29d2e36cdfcc8f02c2590e13b1aaf5755');
INSERT INTO public.entries VALUES (9, 'open-account', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', '', 'owner', 'add-remove', '', '', '', '{"stated_delta": "1/100000"}', 50000000000000, 5000000000000, '2026-11-15T21:53:00+00:00', '8a7cc2c1d735d05a660ef0d88f1a21e29d2e36cdfcc8f02c2590e13b1aaf5755', 'e844e9814282bbaf3219ef1532b8e9f9ec97b75e8c1afbecbdb1ee187ed47f62');
INSERT INTO public.entries VALUES (10, 'cover', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'owner', '', '', '', '', '', 0, 0, '2026-11-15T21:53:00+00:00', 'e844e9814282bbaf3219ef1532b8e9f9ec97b75e8c1afbecbdb1ee187ed47f62', 'ece000525cda0fa5c38bb33c0952c37380f361c8674a78d007723267f059f934');
INSERT INTO public.entries VALUES (11, 'cover', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?.csv', 'owner', '', '', '', '', '', 0, 0, '2026-11-15T21:53:00+00:00', 'ece000525cda0fa5c38bb33c0952c37380f361c8674a78d007723267f059f934', '422f1ff9ff7c67115e2f15058b849fbe2fae658a16f4659df29adad3ded6f29d');
INSERT INTO public.entries VALUES (12, 'open-account', ' 	人口 👥 ‮odd
name ', '', 'owner', 'replace', '', '', '', '{"stated_delta": "1/100000"}', 50000000000000, 5000000000000, '2026-11-15T21:53:00+00:00', '422f1ff9ff7c67115e2f15058b849fbe2fae658a16f4659df29adad3ded6f29d', '3ec442f5345637029202df2b645dbb0de589c0030727ac2e5a8ea834b4fc90b4');
INSERT INTO public.entries VALUES (13, 'cover', ' 	人口 👥 ‮odd
name ', ' 	人口 👥 ‮odd
name ', 'owner', '', '', '', '', '', 0, 0, '2026-11-15T21:53:00+00:00', '3ec442f5345637029202df2b645dbb0de589c0030727ac2e5a8ea834b4fc90b4', '3a5f316983917322b8030d2d7e476e62c9a64dfb3f04e79a6ddc3a4a2153747e');
INSERT INTO public.entries VALUES (14, 'open-account', 'Café', '', 'owner', 'add-remove', '', '', '', '{"stated_delta": "1/1000000"}', 1000000000000, 500000000000, '2026-11-15T21:53:00+00:00', '3a5f316983917322b8030d2d7e476e62c9a64dfb3f04e79a6ddc3a4a2153747e', '503488895d19dc560bbca73faf3410e3be8a2ce9998af26831e41147ba7a8202');
INSERT INTO public.entries VALUES (15, 'cover', 'Café', 'Café.csv', 'owner', '', '', '', '', '', 0, 0, '2026-11-15T21:53:00+00:00', '503488895d19dc560bbca73faf3410e3be8a2ce9998af26831e41147ba7a8202', 'bd213c695a9038a29557f54cb345336132ba6559aac4dae466fcd7703952427f');
INSERT INTO public.entries VALUES (16, 'open-account', 'Café', '', 'owner', 'add-remove', '', '', '', '{"stated_delta": "1/10000000"}', 2000000000000, 50000000000, '2026-11-15T21:53:00+00:00', 'bd213c695a9038a29557f54cb345336132ba6559aac4dae466fcd7703952427f', '46bf4f59a1d63debbbb0c1d8bd64cc525a61bf2372edfba6a3c17100dcdf117c');
INSERT INTO public.entries VALUES (17, 'cover', 'Café', 'Café.csv', 'owner', '', '', '', '', '', 0, 0, '2026-11-15T21:53:00+00:00', '46bf4f59a1d63debbbb0c1d8bd64cc525a61bf2372edfba6a3c17100dcdf117c', '47267142af0f976d378653716453f594b9744ccff6987fa200a26ce7cda89327');
INSERT INTO public.entries VALUES (18, 'open-account', 'mail:ann@example.org', '', 'owner', 'add-remove', '', '', '', '{"stated_delta": "1/100000"}', 50000000000000, 5000000000000, '2026-11-15T21:53:00+00:00', '47267142af0f976d378653716453f594b9744ccff6987fa200a26ce7cda89327', 'c65ccf3107df2cb8d5a39c69fd6298184eef3abb2ccf6fc050ea1ff3fe90b4e4');
INSERT INTO public.entries VALUES (19, 'cover', 'mail:ann@example.org', 'mail:ann@example.org/list', 'owner', '', '', '', '', '', 0, 0, '2026-11-15T21:53:00+00:00', 'c65ccf3107df2cb8d5a39c69fd6298184eef3abb2ccf6fc050ea1ff3fe90b4e4', '185498c29a24e095cc7a8269b15e46ce15cc2bc3072c0d28961ce822c080afda');
INSERT INTO public.entries VALUES (20, 'open-account', 'never used', '', 'owner', 'add-remove', '', '', '', '{"stated_delta": "1/1000000"}', 1000000000000000000, 500000000000, '2026-11-15T21:53:00+00:00', '185498c29a24e095cc7a8269b15e46ce15cc2bc3072c0d28961ce822c080afda', '6a311f0b6489d7e038f85c46884c33c1fb7e05611020c09936630c7c6ae8a81e');
INSERT INTO public.entries VALUES (21, 'charge', 'web', 'key-0', 'ann', 'add-remove', 'count_users', '0b178178a0f0548a93113843dea510d65129b52585a555c9873a83215a0312f9', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:00+00:00', '6a311f0b6489d7e038f85c46884c33c1fb7e05611020c09936630c7c6ae8a81e', 'c9d8e0812dd6fbc1b7736afadf4d72eaebb9ac9fc4f1417550e06ebf5c18d18f');
INSERT INTO public.entries VALUES (22, 'result', 'web', 'key-0', 'ann', '', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '', '{"charge": 21}', 0, 0, '2026-11-15T21:53:00+00:00', 'c9d8e0812dd6fbc1b7736afadf4d72eaebb9ac9fc4f1417550e06ebf5c18d18f', '089df6066f95e958fe7970dda3c2591ef7319fdaf2fbca36c407f52e1fea84c5');
INSERT INTO public.entries VALUES (23, 'charge', 'web', 'key-1', 'ann', 'add-remove', 'count_events', '084ec6e6944c655f7b37f0811fe1e744e3988db33a3ad8443c052391bcde6c79', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "20", "sigma_squared": "10000/3"}', 3000000000, 0, '2026-11-15T21:53:00+00:00', '089df6066f95e958fe7970dda3c2591ef7319fdaf2fbca36c407f52e1fea84c5', '278ea719777115e78a7ffb9822145237f8bcaaebfbd38324ab7eff56e7b8ce9a');
INSERT INTO public.entries VALUES (24, 'result', 'web', 'key-1', 'ann', '', '', '40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880', '', '{"charge": 23}', 0, 0, '2026-11-15T21:53:00+00:00', '278ea719777115e78a7ffb9822145237f8bcaaebfbd38324ab7eff56e7b8ce9a', '9347058597af36d2f0bc936fd4befe206824ec1cbe1e3fe8963c40546398207f');
INSERT INTO public.entries VALUES (25, 'charge', 'web', 'key-2', 'ann', 'add-remove', 'frequencies', 'eb809a0c3c949c9a4c6d4c836fe6259cd2e0cdb9dd8238b7ead9bdd13a22d302', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"kind": "laplace-noise", "l1": "1", "scale": "7/2"}', 40816326531, 0, '2026-11-15T21:53:00+00:00', '9347058597af36d2f0bc936fd4befe206824ec1cbe1e3fe8963c40546398207f', '962d553add1bd7d4e697c26f8077d00d2db1d5b2fcb6d43f38b8e127d44302d9');
INSERT INTO public.entries VALUES (26, 'result', 'web', 'key-2', 'ann', '', '', 'b21917f18791ed1214037cb55dc005aff8e2771b0540e0b2a33cf0331de1c867', '', '{"charge": 25}', 0, 0, '2026-11-15T21:53:00+00:00', '962d553add1bd7d4e697c26f8077d00d2db1d5b2fcb6d43f38b8e127d44302d9', '2dbc1f4465b980b0d3862e8c2a77bcc4f1c36b8ee7c472729ea480b590be999d');
INSERT INTO public.entries VALUES (27, 'charge', 'web', 'key-3', 'ann', 'add-remove', 'count_users', 'f2ada01b3dc85a0c51c7646dc6d0cbf5d0cb99fbfd0c74c8b9357668f8219b78', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"epsilon": "1/3", "kind": "selection"}', 13888888889, 0, '2026-11-15T21:53:01+00:00', '2dbc1f4465b980b0d3862e8c2a77bcc4f1c36b8ee7c472729ea480b590be999d', '033b774d1b9f87245ed3a15d0b3703d71a4339ab693866d93fd9bb0333e3bef5');
INSERT INTO public.entries VALUES (28, 'charge', 'web', 'key-4', 'ann', 'add-remove', 'count_events', 'ba5e591b5eaa7981b93f4527c908844a1c81b16cfcef2f7564734d995baa0001', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"delta": "0", "kind": "filtered", "rho": "1/7"}', 142857142858, 0, '2026-11-15T21:53:01+00:00', '033b774d1b9f87245ed3a15d0b3703d71a4339ab693866d93fd9bb0333e3bef5', 'cfae1b4b558c51dd929641e26596ae100793775c3b7cf9585bded61c03f5a814');
INSERT INTO public.entries VALUES (29, 'charge', 'web', 'key-5', 'ann', 'add-remove', 'frequencies', 'b76894c8f64c7f7b6f9266c09317b4c32423b0690d05cb8400624f7321e67be9', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"events": [{"epsilon": "1/10", "kind": "selection"}, {"events": [{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}, {"kind": "laplace-noise", "l1": "1", "scale": "30"}], "kind": "composed"}], "kind": "composed"}', 11805555556, 0, '2026-11-15T21:53:01+00:00', 'cfae1b4b558c51dd929641e26596ae100793775c3b7cf9585bded61c03f5a814', '317b08bde2c65331db191863f54abee04c63f4045e6f6aa7f6895792478170b7');
INSERT INTO public.entries VALUES (30, 'result', 'web', 'key-5', 'ann', '', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '', '{"charge": 29}', 0, 0, '2026-11-15T21:53:01+00:00', '317b08bde2c65331db191863f54abee04c63f4045e6f6aa7f6895792478170b7', '80fdd0cfde99d4b9614225ea847d0ba420f3d3a87501f12f74282cd1e4bf81de');
INSERT INTO public.entries VALUES (31, 'charge', 'web', 'key-6', 'ann', 'add-remove', 'count_users', '3d6deda8bc33bb6ac47b82154251d4e38077bc043f65a8bb9d90a9b4f66ed176', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"delta": "1/1000000000", "kind": "gaussian-threshold", "l2_squared": "20", "sigma_squared": "400"}', 25000000000, 1000000000, '2026-11-15T21:53:01+00:00', '80fdd0cfde99d4b9614225ea847d0ba420f3d3a87501f12f74282cd1e4bf81de', '4c06ca074823ccbb0708816e40aef29de6c4defaf4eda51eed7f097a2f83b96c');
INSERT INTO public.entries VALUES (32, 'result', 'web', 'key-6', 'ann', '', '', '40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880', '', '{"charge": 31}', 0, 0, '2026-11-15T21:53:01+00:00', '4c06ca074823ccbb0708816e40aef29de6c4defaf4eda51eed7f097a2f83b96c', 'f066cd12d351ed1ef1cac811c43ab5c6eaf02702029248506f88581967a92416');
INSERT INTO public.entries VALUES (33, 'charge', 'web', 'key-7', 'ann', 'add-remove', 'count_events', 'f0c9279c0a4b3eecb94002df438ebd5b229af9c58cba5ff5b59fd3a277fd0119', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"delta": "1/3000000000", "kind": "laplace-threshold", "l1": "4", "scale": "40"}', 5000000000, 333333334, '2026-11-15T21:53:01+00:00', 'f066cd12d351ed1ef1cac811c43ab5c6eaf02702029248506f88581967a92416', 'f414ccd106335507fe1f0c58e032c97be523739f4c7d8d9e12a51075970bc268');
INSERT INTO public.entries VALUES (34, 'charge', 'web', 'key-8', 'ann', 'add-remove', 'frequencies', 'f4d05b27e94cdce52a8f2006d4e6e8ced140489311de226cf4a790d401f7358d', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"delta": "1/1000000000", "kind": "filtered", "rho": "1/90"}', 11111111112, 1000000000, '2026-11-15T21:53:01+00:00', 'f414ccd106335507fe1f0c58e032c97be523739f4c7d8d9e12a51075970bc268', '9e27d346ef8e2de4954758146b604c0954c37ad7a2385396484f721b88610058');
INSERT INTO public.entries VALUES (35, 'result', 'web', 'key-8', 'ann', '', '', '45fbf6a67b5efa7dbcc0c0ccf6bdd7ce207300314c009282515896ea4cd7a4e6', '', '{"charge": 34}', 0, 0, '2026-11-15T21:53:01+00:00', '9e27d346ef8e2de4954758146b604c0954c37ad7a2385396484f721b88610058', 'ae2adc36f35c8aaea0afa1d265e8c2178264efce8dd3c67c12dd8093691212fc');
INSERT INTO public.entries VALUES (36, 'charge', 'web', 'key-9', 'ann', 'add-remove', 'count_users', '2ecad32d34ae224742b13caa9e7271ef2a3e629340a60d48fdc249b96e6f0e2e', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"delta": "1/1000000000", "kind": "sample-threshold", "n_samples": "1", "rate": "1/16", "rho": "1/8", "threshold": "12"}', 125000000000, 1000000000, '2026-11-15T21:53:01+00:00', 'ae2adc36f35c8aaea0afa1d265e8c2178264efce8dd3c67c12dd8093691212fc', '480be6007f6bc4ac13881a0a85420bb4b4738cd73b4355e9727085759aec2515');
INSERT INTO public.entries VALUES (37, 'charge', 'web', 'key-10', 'ann', 'add-remove', 'count_events', '7fc6d6b130b74c5577b750d75f4a6126c9f4d1973540ed2e7ca248add1e16bcf', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"events": [{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}, {"events": [{"delta": "1/1000000000", "kind": "laplace-threshold", "l1": "1", "scale": "10"}, {"events": [{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}], "kind": "composed"}], "kind": "composed"}], "kind": "composed"}', 25000000000, 1000000000, '2026-11-15T21:53:01+00:00', '480be6007f6bc4ac13881a0a85420bb4b4738cd73b4355e9727085759aec2515', 'a3563b194296a49037082cc60e04475f9aea1c2adfcabef4c5b5b9bdebd50c76');
INSERT INTO public.entries VALUES (38, 'result', 'web', 'key-10', 'ann', '', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '', '{"charge": 37}', 0, 0, '2026-11-15T21:53:01+00:00', 'a3563b194296a49037082cc60e04475f9aea1c2adfcabef4c5b5b9bdebd50c76', '478fb62569bc3663454e327ff1b6ff7454acb4d98200896c35a85772f8e37a37');
INSERT INTO public.entries VALUES (39, 'charge', 'panel', 'key-11', 'ann', 'add-remove', 'frequencies', 'f8ffdead949a394063d5fa3b9128030bcb40b27f8a1b552452d3aec171127101', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 40000000000, 0, '2026-11-15T21:53:01+00:00', '478fb62569bc3663454e327ff1b6ff7454acb4d98200896c35a85772f8e37a37', 'c87b09b2db52a8be6ab91e0452c2f403f76eac72cec3dcc5095dacbfc641a713');
INSERT INTO public.entries VALUES (40, 'charge', 'panel', 'key-12', 'ann', 'add-remove', 'count_users', 'fc96ae7155518b3637a7ab3ed64f46827c142204e93c9bdc084d5033232de62f', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "20", "sigma_squared": "10000/3"}', 12000000000, 0, '2026-11-15T21:53:01+00:00', 'c87b09b2db52a8be6ab91e0452c2f403f76eac72cec3dcc5095dacbfc641a713', '7cad4af54f25ebe15bd9b0d7570999cf53e129849a6bc6ec4d05cb079a9b4485');
INSERT INTO public.entries VALUES (41, 'result', 'panel', 'key-12', 'ann', '', '', 'b21917f18791ed1214037cb55dc005aff8e2771b0540e0b2a33cf0331de1c867', '', '{"charge": 40}', 0, 0, '2026-11-15T21:53:01+00:00', '7cad4af54f25ebe15bd9b0d7570999cf53e129849a6bc6ec4d05cb079a9b4485', '9a26d0232941633fd7735f3dc047f353dfe2a04247492f22a3bd96a309154261');
INSERT INTO public.entries VALUES (42, 'charge', 'panel', 'key-13', 'ann', 'add-remove', 'count_events', 'fd5c99d52d3956279ba3fba541199d0e79a63340084d006a5604e82356b751c3', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"kind": "laplace-noise", "l1": "1", "scale": "7/2"}', 163265306123, 0, '2026-11-15T21:53:01+00:00', '9a26d0232941633fd7735f3dc047f353dfe2a04247492f22a3bd96a309154261', '36c682c9a16d38889bb766d4961c25980ef85ba1fef1d99a7c14bdf7885513eb');
INSERT INTO public.entries VALUES (43, 'result', 'panel', 'key-13', 'ann', '', '', '45fbf6a67b5efa7dbcc0c0ccf6bdd7ce207300314c009282515896ea4cd7a4e6', '', '{"charge": 42}', 0, 0, '2026-11-15T21:53:01+00:00', '36c682c9a16d38889bb766d4961c25980ef85ba1fef1d99a7c14bdf7885513eb', 'd319d6969713217147e83935af5310e66d68b8209e03ed92733c98e31606a49d');
INSERT INTO public.entries VALUES (44, 'charge', 'panel', 'key-14', 'ann', 'add-remove', 'frequencies', '6db304af8c1aded881ec94fda1258cce28c4768acc3c120b108e739994c51d2a', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"epsilon": "1/3", "kind": "selection"}', 55555555556, 0, '2026-11-15T21:53:01+00:00', 'd319d6969713217147e83935af5310e66d68b8209e03ed92733c98e31606a49d', '0abcd132e95a43156523252d3ae72197eb5ccae7f4d25bd7c7c58d41756fb0f1');
INSERT INTO public.entries VALUES (45, 'charge', 'panel', 'key-15', 'ann', 'add-remove', 'count_users', 'cc7a0ba7852cbcaf0280188fb0c9398515080e98d621c22d663f22a27ac9a0d4', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"delta": "0", "kind": "filtered", "rho": "1/7"}', 571428571429, 0, '2026-11-15T21:53:01+00:00', '0abcd132e95a43156523252d3ae72197eb5ccae7f4d25bd7c7c58d41756fb0f1', '53018628e4a496fceda074aeae0d0d891eb952ae432a7d7f4758c5f332c26ead');
INSERT INTO public.entries VALUES (46, 'result', 'panel', 'key-15', 'ann', '', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '', '{"charge": 45}', 0, 0, '2026-11-15T21:53:01+00:00', '53018628e4a496fceda074aeae0d0d891eb952ae432a7d7f4758c5f332c26ead', '69a97278390a78d9a3042ca3bae06822c504e0540fa81e0b9a3168089782b762');
INSERT INTO public.entries VALUES (47, 'charge', 'panel', 'key-16', 'ann', 'add-remove', 'count_events', '40fea6c902184f720d8f95e9253780b5092ea25d9b81938d481c86e81ec633d4', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"events": [{"epsilon": "1/10", "kind": "selection"}, {"events": [{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}, {"kind": "laplace-noise", "l1": "1", "scale": "30"}], "kind": "composed"}], "kind": "composed"}', 47222222223, 0, '2026-11-15T21:53:01+00:00', '69a97278390a78d9a3042ca3bae06822c504e0540fa81e0b9a3168089782b762', '320ecf45465eeb5996afefd33ff9ae49cdb5c17f14d63d30833c2355c9fb3e73');
INSERT INTO public.entries VALUES (48, 'result', 'panel', 'key-16', 'ann', '', '', '40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880', '', '{"charge": 47}', 0, 0, '2026-11-15T21:53:01+00:00', '320ecf45465eeb5996afefd33ff9ae49cdb5c17f14d63d30833c2355c9fb3e73', 'c951349348b97cdeb8ff5197e89005dad181dc63dcbd670b2af79909ef9dc9f3');
INSERT INTO public.entries VALUES (49, 'charge', 'panel', 'key-17', 'ann', 'replace', 'frequencies', '6836e02131312dd03428936d1be4ff9ff7038eb43d164209bca94d746cc10445', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', 'c951349348b97cdeb8ff5197e89005dad181dc63dcbd670b2af79909ef9dc9f3', '17ebd096975b22814c431ebafe84a9a2db76d68f3b39cda44e0b5aa9c45be8cd');
INSERT INTO public.entries VALUES (50, 'result', 'panel', 'key-17', 'ann', '', '', 'b21917f18791ed1214037cb55dc005aff8e2771b0540e0b2a33cf0331de1c867', '', '{"charge": 49}', 0, 0, '2026-11-15T21:53:01+00:00', '17ebd096975b22814c431ebafe84a9a2db76d68f3b39cda44e0b5aa9c45be8cd', '77d205c60ebee8f0783af173a8e4043b36507cabb55d0d36eaefe16d4557eeb8');
INSERT INTO public.entries VALUES (51, 'charge', 'panel', 'key-18', 'ann', 'replace', 'count_users', '7fddf90062a27e65e920b2b24c4ed07150d5b10180214fa6ed47a7e5004aef92', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "20", "sigma_squared": "10000/3"}', 3000000000, 0, '2026-11-15T21:53:01+00:00', '77d205c60ebee8f0783af173a8e4043b36507cabb55d0d36eaefe16d4557eeb8', 'dfc85d3793647cd0010c369111620d3abf0fc670ad8a02aaf16d973b08236f8e');
INSERT INTO public.entries VALUES (52, 'result', 'panel', 'key-18', 'ann', '', '', '45fbf6a67b5efa7dbcc0c0ccf6bdd7ce207300314c009282515896ea4cd7a4e6', '', '{"charge": 51}', 0, 0, '2026-11-15T21:53:01+00:00', 'dfc85d3793647cd0010c369111620d3abf0fc670ad8a02aaf16d973b08236f8e', 'eef696107d7166e752b0244967a63d79b8072482d7758f4823af36fe2174f6f8');
INSERT INTO public.entries VALUES (53, 'charge', 'panel', 'key-19', 'ann', 'replace', 'count_events', '47ee725d1707b13c54544a025be45f7353077e93d01455aeec072a09897e2a5b', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"delta": "1/1000000000", "kind": "gaussian-threshold", "l2_squared": "20", "sigma_squared": "400"}', 25000000000, 1000000000, '2026-11-15T21:53:01+00:00', 'eef696107d7166e752b0244967a63d79b8072482d7758f4823af36fe2174f6f8', '7f75736bd67a08041363f46ab2867dfe18339c52dc84e23c6192fb64fd720670');
INSERT INTO public.entries VALUES (54, 'charge', 'panel', 'key-20', 'ann', 'replace', 'frequencies', '918c917b933b34cf62bc3b2622349194d9d37beccaa343ba1e73edcd7206c781', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"delta": "1/3000000000", "kind": "laplace-threshold", "l1": "4", "scale": "40"}', 5000000000, 333333334, '2026-11-15T21:53:01+00:00', '7f75736bd67a08041363f46ab2867dfe18339c52dc84e23c6192fb64fd720670', '1cf2f49adccdd46a5a7f6e6b863915dd14f2ed2df3c268cd123aac7ef61b5bc3');
INSERT INTO public.entries VALUES (55, 'result', 'panel', 'key-20', 'ann', '', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '', '{"charge": 54}', 0, 0, '2026-11-15T21:53:01+00:00', '1cf2f49adccdd46a5a7f6e6b863915dd14f2ed2df3c268cd123aac7ef61b5bc3', '7fe3af3b5d490c146fa77277de18fd478b3ac344fe718a174ed58d957cf79d0a');
INSERT INTO public.entries VALUES (56, 'charge', 'panel', 'key-21', 'ann', 'replace', 'count_users', 'ae795b62b9bc47ed9a332344e6af0344f2de0bbf696bddb108e9f1926f752320', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"delta": "1/1000000000", "kind": "filtered", "rho": "1/90"}', 11111111112, 1000000000, '2026-11-15T21:53:01+00:00', '7fe3af3b5d490c146fa77277de18fd478b3ac344fe718a174ed58d957cf79d0a', 'ce4eafa384dc455e09e1e636a3d3efbde8d078067739d6e91ca1d8364e658390');
INSERT INTO public.entries VALUES (57, 'result', 'panel', 'key-21', 'ann', '', '', '40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880', '', '{"charge": 56}', 0, 0, '2026-11-15T21:53:01+00:00', 'ce4eafa384dc455e09e1e636a3d3efbde8d078067739d6e91ca1d8364e658390', 'bf4657a0120d96bf4738e765e13e0c526887675bb06c58e4eef839175e79c16c');
INSERT INTO public.entries VALUES (58, 'charge', 'panel', 'key-22', 'ann', 'replace', 'count_events', 'fa8526c5b54276b0ad46231a094065da136f2893d765d4a36513dce8da8824e3', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"delta": "1/1000000000", "kind": "sample-threshold", "n_samples": "1", "rate": "1/16", "rho": "1/8", "threshold": "12"}', 125000000000, 1000000000, '2026-11-15T21:53:01+00:00', 'bf4657a0120d96bf4738e765e13e0c526887675bb06c58e4eef839175e79c16c', '9bee15913a3e4ebb20d136d04b5d9b2b4b2e7effb4269a7daa9451f52346c15a');
INSERT INTO public.entries VALUES (59, 'result', 'panel', 'key-22', 'ann', '', '', 'b21917f18791ed1214037cb55dc005aff8e2771b0540e0b2a33cf0331de1c867', '', '{"charge": 58}', 0, 0, '2026-11-15T21:53:01+00:00', '9bee15913a3e4ebb20d136d04b5d9b2b4b2e7effb4269a7daa9451f52346c15a', '8f53c3933acd567fe68ceed468963af64d6ec2dfafbb6b801e97a0dda305881a');
INSERT INTO public.entries VALUES (60, 'charge', 'panel', 'key-23', 'ann', 'replace', 'frequencies', '4501aef44352d4eacc22ddccdef863d458091224cb051592eeed8d5557c9c562', '{"by": "l\u00e4ndcode", "source": "panel", "user": "user_id", "where": "a = ''b''"}', '{"events": [{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}, {"events": [{"delta": "1/1000000000", "kind": "laplace-threshold", "l1": "1", "scale": "10"}, {"events": [{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}], "kind": "composed"}], "kind": "composed"}], "kind": "composed"}', 25000000000, 1000000000, '2026-11-15T21:53:01+00:00', '8f53c3933acd567fe68ceed468963af64d6ec2dfafbb6b801e97a0dda305881a', '64fd937b35f1052e6348456eec4b82bf3add7705c8b112217d297838af902b27');
INSERT INTO public.entries VALUES (61, 'charge', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'the same key everywhere', 'ann', 'add-remove', 'count_users', '746349920f15ed1ebbe14e4ce3ccff7f941e457ea3aa69afe924999293424fb2', '{"by": "l\u00e4ndcode", "source": "Zo\u00eb''s \"web\"; DROP TABLE entries; -- \\ %s %(name)s {0} $1 ?", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '64fd937b35f1052e6348456eec4b82bf3add7705c8b112217d297838af902b27', '3f1735611820f3de059f4c27507ba76108de151aced53324a0b86ba05971f720');
INSERT INTO public.entries VALUES (62, 'charge', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'key-25', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'add-remove', 'count_events', 'e83739dc2b2fe339d53516f1f856b4090156e82297bb71b1b4749ddfd382ed77', '{"by": "l\u00e4ndcode", "source": "Zo\u00eb''s \"web\"; DROP TABLE entries; -- \\ %s %(name)s {0} $1 ?", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '3f1735611820f3de059f4c27507ba76108de151aced53324a0b86ba05971f720', 'c2f372ffb0708be1ab857039d04c3f6efb19762e812b2fd93b38d28dcf5cc975');
INSERT INTO public.entries VALUES (63, 'result', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'key-25', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', '', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '', '{"charge": 62}', 0, 0, '2026-11-15T21:53:01+00:00', 'c2f372ffb0708be1ab857039d04c3f6efb19762e812b2fd93b38d28dcf5cc975', '4e02fffc82aaf2a49874ce11687cc6766fff55c16126a99513933233548bff19');
INSERT INTO public.entries VALUES (64, 'charge', ' 	人口 👥 ‮odd
name ', 'the same key everywhere', 'ann', 'add-remove', 'frequencies', '589036abe26a1f40a5f39214df48ad066abe06975554197c5e135bd6491c6fc8', '{"by": "l\u00e4ndcode", "source": " \t\u4eba\u53e3 \ud83d\udc65 \u202eodd\nname ", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 40000000000, 0, '2026-11-15T21:53:01+00:00', '4e02fffc82aaf2a49874ce11687cc6766fff55c16126a99513933233548bff19', 'c6e588815fa54d31406cbc6eda283e64c3d080e7353dcde50fa71cb5913e0c34');
INSERT INTO public.entries VALUES (65, 'result', ' 	人口 👥 ‮odd
name ', 'the same key everywhere', 'ann', '', '', '40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880', '', '{"charge": 64}', 0, 0, '2026-11-15T21:53:01+00:00', 'c6e588815fa54d31406cbc6eda283e64c3d080e7353dcde50fa71cb5913e0c34', '988950e5582380756a39b218a3281bc7a2088067bc6914484f98b6df7993ac4e');
INSERT INTO public.entries VALUES (66, 'charge', ' 	人口 👥 ‮odd
name ', 'key-27', ' 	人口 👥 ‮odd
name ', 'add-remove', 'count_users', '6f6085fb85ae49f5406d25f9bc17c4e1f6956475e9a3210f9e4d3c3221aa585e', '{"by": "l\u00e4ndcode", "source": " \t\u4eba\u53e3 \ud83d\udc65 \u202eodd\nname ", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 40000000000, 0, '2026-11-15T21:53:01+00:00', '988950e5582380756a39b218a3281bc7a2088067bc6914484f98b6df7993ac4e', '0158df72f886f6adcb9a4c2637da1b5ebb22af3ecc0643b52e864dd5b852cee4');
INSERT INTO public.entries VALUES (67, 'charge', 'Café', 'the same key everywhere', 'ann', 'add-remove', 'count_events', 'aeb61ca7462a8c97967355e93944be69e77cf13eac1e4c4196464b2e9aa58ceb', '{"by": "l\u00e4ndcode", "source": "Caf\u00e9", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '0158df72f886f6adcb9a4c2637da1b5ebb22af3ecc0643b52e864dd5b852cee4', '21357deba564399342aa01704e6d9182addf3200a3070e6f02492c883987c70d');
INSERT INTO public.entries VALUES (68, 'result', 'Café', 'the same key everywhere', 'ann', '', '', '45fbf6a67b5efa7dbcc0c0ccf6bdd7ce207300314c009282515896ea4cd7a4e6', '', '{"charge": 67}', 0, 0, '2026-11-15T21:53:01+00:00', '21357deba564399342aa01704e6d9182addf3200a3070e6f02492c883987c70d', 'a00687f636a347c53630ff5b1e2a2fc0190db5265ca35b054be39eb4de1d6af5');
INSERT INTO public.entries VALUES (69, 'charge', 'Café', 'key-29', 'Café', 'add-remove', 'frequencies', '704940df33b45911bc06872b7f76aa9de0586e1df3ed18c3b57b87ccc69558c5', '{"by": "l\u00e4ndcode", "source": "Caf\u00e9", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', 'a00687f636a347c53630ff5b1e2a2fc0190db5265ca35b054be39eb4de1d6af5', '1ed0301ab7c82e5ff82eede9b52084d79891b214387446f45321a288fdef44d4');
INSERT INTO public.entries VALUES (70, 'charge', 'Café', 'the same key everywhere', 'ann', 'add-remove', 'count_users', '2dc295dfc71999c3372a72c21d8cb7352e94900610539826229b620f473a674c', '{"by": "l\u00e4ndcode", "source": "Cafe\u0301", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '1ed0301ab7c82e5ff82eede9b52084d79891b214387446f45321a288fdef44d4', 'e1c6943b88c0d2109feadf5f31e698e9dcbd98d65b2fd5e22bfa7a19e5bf01a5');
INSERT INTO public.entries VALUES (71, 'result', 'Café', 'the same key everywhere', 'ann', '', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '', '{"charge": 70}', 0, 0, '2026-11-15T21:53:01+00:00', 'e1c6943b88c0d2109feadf5f31e698e9dcbd98d65b2fd5e22bfa7a19e5bf01a5', 'abc734571aeef73a47574be4d2516053df9e3273e982e854e4dd508fb469397f');
INSERT INTO public.entries VALUES (72, 'charge', 'Café', 'key-31', 'Café', 'add-remove', 'count_events', '00480b53edc2eb27c488404a012713d28d1be610ec3191ab83d7fc4a8f0a2ffa', '{"by": "l\u00e4ndcode", "source": "Cafe\u0301", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', 'abc734571aeef73a47574be4d2516053df9e3273e982e854e4dd508fb469397f', '150a733b965a34fc9fa660a9784b590c2b5032a12cf7964c5ae9aa8ed85b637c');
INSERT INTO public.entries VALUES (73, 'charge', 'mail:ann@example.org', 'the same key everywhere', 'ann', 'add-remove', 'frequencies', '1340b49a56892c8b639a59d86266bd3bb646bb65fb2999218bedb1a3f34d92e9', '{"by": "l\u00e4ndcode", "source": "mail:ann@example.org", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '150a733b965a34fc9fa660a9784b590c2b5032a12cf7964c5ae9aa8ed85b637c', 'ae8042d6e5f566a75de19fb816923b3fa3fc979a336bef4ae6ff23d232de41d2');
INSERT INTO public.entries VALUES (74, 'result', 'mail:ann@example.org', 'the same key everywhere', 'ann', '', '', 'b21917f18791ed1214037cb55dc005aff8e2771b0540e0b2a33cf0331de1c867', '', '{"charge": 73}', 0, 0, '2026-11-15T21:53:01+00:00', 'ae8042d6e5f566a75de19fb816923b3fa3fc979a336bef4ae6ff23d232de41d2', 'df1a573e7a200fb0d06a9c497eddf86eba0405b95a8cef395257cadcf5b5813d');
INSERT INTO public.entries VALUES (75, 'charge', 'mail:ann@example.org', 'key-33', 'mail:ann@example.org', 'add-remove', 'count_users', '082905299c2e9d6679ffc4b2bee3ecf09f23f10ab9c84b05958d2db89aa679cc', '{"by": "l\u00e4ndcode", "source": "mail:ann@example.org", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', 'df1a573e7a200fb0d06a9c497eddf86eba0405b95a8cef395257cadcf5b5813d', 'dde43c5da3a74887ba95389ab376539945185b9a11c807eb15b990ad0bf037d7');
INSERT INTO public.entries VALUES (76, 'result', 'mail:ann@example.org', 'key-33', 'mail:ann@example.org', '', '', '45fbf6a67b5efa7dbcc0c0ccf6bdd7ce207300314c009282515896ea4cd7a4e6', '', '{"charge": 75}', 0, 0, '2026-11-15T21:53:01+00:00', 'dde43c5da3a74887ba95389ab376539945185b9a11c807eb15b990ad0bf037d7', '7d0d14f6ba7552e912ed41b2aa8ea8f2408a702a5bdff722c0e44da58f2d4b71');
INSERT INTO public.entries VALUES (77, 'charge', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'ann', 'add-remove', 'count_events', '0765f9101600380272eb8dad6b5de69db0e49f1cc13437b52ca567771726036c', '{"by": "l\u00e4ndcode", "source": "Zo\u00eb''s \"web\"; DROP TABLE entries; -- \\ %s %(name)s {0} $1 ?", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '7d0d14f6ba7552e912ed41b2aa8ea8f2408a702a5bdff722c0e44da58f2d4b71', 'b904059df3891160083e8ea1549a2d2863779300fb5d1908a18d24c9f88d46d5');
INSERT INTO public.entries VALUES (78, 'charge', ' 	人口 👥 ‮odd
name ', ' 	人口 👥 ‮odd
name ', 'ann', 'add-remove', 'frequencies', '96fcc96443ff870f1a9e20d3e05474d4392f12add04d70cd7aa68e78d7f7b112', '{"by": "l\u00e4ndcode", "source": " \t\u4eba\u53e3 \ud83d\udc65 \u202eodd\nname ", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 40000000000, 0, '2026-11-15T21:53:01+00:00', 'b904059df3891160083e8ea1549a2d2863779300fb5d1908a18d24c9f88d46d5', '04c587a18ccb602f3441a534cafe1ea9b893eaa6b64cf29c8cb16163f86edb8e');
INSERT INTO public.entries VALUES (79, 'result', ' 	人口 👥 ‮odd
name ', ' 	人口 👥 ‮odd
name ', 'ann', '', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '', '{"charge": 78}', 0, 0, '2026-11-15T21:53:01+00:00', '04c587a18ccb602f3441a534cafe1ea9b893eaa6b64cf29c8cb16163f86edb8e', 'f00ef2d5920a47223aa2b3005818d5f89d700ea7ac2afadbfd07d3f8b8f54cfa');
INSERT INTO public.entries VALUES (80, 'charge', 'web', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 'ann', 'add-remove', 'count_users', '885bc6b4a6cd8c9c5f3809246b872c76f448a72118e6066c1a300f1086e4187c', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', 'f00ef2d5920a47223aa2b3005818d5f89d700ea7ac2afadbfd07d3f8b8f54cfa', 'e65a96e766fc19290c9367b8f63d389abbb008e8e7a930cd0c39b1f56fcac7a2');
INSERT INTO public.entries VALUES (81, 'result', 'web', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 'ann', '', '', '40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880', '', '{"charge": 80}', 0, 0, '2026-11-15T21:53:01+00:00', 'e65a96e766fc19290c9367b8f63d389abbb008e8e7a930cd0c39b1f56fcac7a2', '2a58fb0b077c3d4947e755016bf1f9fa00e8b1f23b3b1cc94975f2af6b3582d0');
INSERT INTO public.entries VALUES (82, 'charge', 'web', 'asked first', 'ann', 'add-remove', 'count_events', '8b98de5bb263c26f47858c99cf1169cd93d7f3621d5c09cb5f7ad141186c1ad9', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '2a58fb0b077c3d4947e755016bf1f9fa00e8b1f23b3b1cc94975f2af6b3582d0', '0b8fc641962a3211d4b09bbc7d21a67982939383f6b16c5b300d321519172936');
INSERT INTO public.entries VALUES (83, 'result', 'web', 'asked first', 'ann', '', '', 'b21917f18791ed1214037cb55dc005aff8e2771b0540e0b2a33cf0331de1c867', '', '{"charge": 82}', 0, 0, '2026-11-15T21:53:01+00:00', '0b8fc641962a3211d4b09bbc7d21a67982939383f6b16c5b300d321519172936', '56c3e71ee009392ae5376de9dd55ccb34f0bb8f64cfb5cf398e39f2b71ddf260');
INSERT INTO public.entries VALUES (84, 'charge', 'web', 'asked again', 'ann', 'add-remove', 'frequencies', '8b98de5bb263c26f47858c99cf1169cd93d7f3621d5c09cb5f7ad141186c1ad9', '{"by": "l\u00e4ndcode", "source": "web", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '56c3e71ee009392ae5376de9dd55ccb34f0bb8f64cfb5cf398e39f2b71ddf260', '86cfa0bc56b9d111a774bf1dc737f6096f0f6b0a7912d086d892dbd78098bf26');
INSERT INTO public.entries VALUES (85, 'result', 'web', 'asked again', 'ann', '', '', '45fbf6a67b5efa7dbcc0c0ccf6bdd7ce207300314c009282515896ea4cd7a4e6', '', '{"charge": 84}', 0, 0, '2026-11-15T21:53:01+00:00', '86cfa0bc56b9d111a774bf1dc737f6096f0f6b0a7912d086d892dbd78098bf26', 'c9b9d93e8362bd57bd8b6632f1d21e05b04aaf4a2e61f43d788298f39046c448');
INSERT INTO public.entries VALUES (86, 'charge', 'all spent', 'key-39', 'ann', 'add-remove', 'count_users', '99384f8179786ebaa8a082f3fb803e53203bd93c1f3d7520e04fb2ce229575ac', '{"by": "l\u00e4ndcode", "source": "all spent", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', 'c9b9d93e8362bd57bd8b6632f1d21e05b04aaf4a2e61f43d788298f39046c448', '1cf3f6702a0e57e8598f9a2f1a40d2e63b845c92e607be9755fd0aa0a12601ec');
INSERT INTO public.entries VALUES (87, 'charge', 'all spent', 'key-40', 'ann', 'add-remove', 'count_events', 'f2ea5557a53f6c265a7dec7a4ece0b7fad9eaf4e5c4c0b6764ee77221f49fcf6', '{"by": "l\u00e4ndcode", "source": "all spent", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '1cf3f6702a0e57e8598f9a2f1a40d2e63b845c92e607be9755fd0aa0a12601ec', '182d1e8ced8b71c460c8479d983fd55898245f2e0b178501b39ff9156270f34a');
INSERT INTO public.entries VALUES (88, 'result', 'all spent', 'key-40', 'ann', '', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '', '{"charge": 87}', 0, 0, '2026-11-15T21:53:01+00:00', '182d1e8ced8b71c460c8479d983fd55898245f2e0b178501b39ff9156270f34a', '9da9c0126435607883c750e73c6058838b009f0e439ee366a43e463f48f59bc5');
INSERT INTO public.entries VALUES (89, 'charge', 'all spent', 'key-41', 'ann', 'add-remove', 'frequencies', 'f2b1b341b89f206b0a3455e929b25c41e41ad396b028a51e608a4933ae88a65a', '{"by": "l\u00e4ndcode", "source": "all spent", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '9da9c0126435607883c750e73c6058838b009f0e439ee366a43e463f48f59bc5', '0bcf746b7ee92fd9d2d39315366335a2b968869cfdf822b3e5e86abe6b110014');
INSERT INTO public.entries VALUES (90, 'result', 'all spent', 'key-41', 'ann', '', '', '40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880', '', '{"charge": 89}', 0, 0, '2026-11-15T21:53:01+00:00', '0bcf746b7ee92fd9d2d39315366335a2b968869cfdf822b3e5e86abe6b110014', '44c3c448e59b7a55197a3ab8a41e92f57c36205e55dd208c2c6ee7036dee1eac');
INSERT INTO public.entries VALUES (91, 'charge', 'shared by a team', 'key-42', 'carol, before there were quotas', 'add-remove', 'count_users', 'bea7a40cc5ebb546364ec203bd46cdb006e7586384ffba6805a86dc6659a0243', '{"by": "l\u00e4ndcode", "source": "shared by a team", "user": "user_id", "where": "a = ''b''"}', '{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}', 10000000000, 0, '2026-11-15T21:53:01+00:00', '44c3c448e59b7a55197a3ab8a41e92f57c36205e55dd208c2c6ee7036dee1eac', 'b37cda77ac97f82e156207e76a42b669c452896c32dff10335bf3a07852ae74a');
INSERT INTO public.entries VALUES (92, 'result', 'shared by a team', 'key-42', 'carol, before there were quotas', '', '', 'b21917f18791ed1214037cb55dc005aff8e2771b0540e0b2a33cf0331de1c867', '', '{"charge": 91}', 0, 0, '2026-11-15T21:53:01+00:00', 'b37cda77ac97f82e156207e76a42b669c452896c32dff10335bf3a07852ae74a', 'b49d1307075f573aa05aaea2939175810a66ad4b0774e83235e7aa996c371bd2');
INSERT INTO public.entries VALUES (93, 'quota', 'shared by a team', 'ann', 'owner', '', '', '', '', '', 22937446602, 65255927667, '2026-11-15T21:53:01+00:00', 'b49d1307075f573aa05aaea2939175810a66ad4b0774e83235e7aa996c371bd2', '8858c7379a6f600a76671f9d122ddd82d4d5fb9a695824c7479129c44469ff95');
INSERT INTO public.entries VALUES (94, 'quota', 'shared by a team', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'owner', '', '', '', '', '', 22937446602, 65255927667, '2026-11-15T21:53:01+00:00', '8858c7379a6f600a76671f9d122ddd82d4d5fb9a695824c7479129c44469ff95', '406d590886b76d50d98f498a38f30dd6b7b780689290395e4831fb97e88f487e');
INSERT INTO public.entries VALUES (95, 'quota', 'shared by a team', 'never came', 'owner', '', '', '', '', '', 6224817086, 17709303941, '2026-11-15T21:53:02+00:00', '406d590886b76d50d98f498a38f30dd6b7b780689290395e4831fb97e88f487e', 'ca607e5e5b02704538efa5895a8d50e83b3062751637edb07ad865499cb4de15');
INSERT INTO public.entries VALUES (96, 'quota', 'shared by a team', 'ann', 'owner', '', '', '', '', '', 83441717602, 237387656208, '2026-11-15T21:53:02+00:00', 'ca607e5e5b02704538efa5895a8d50e83b3062751637edb07ad865499cb4de15', '9709fbe75946937361bd4f4c12126389cb0ce17a32ce69a57c555b6828c1a32f');
INSERT INTO public.entries VALUES (97, 'charge', 'shared by a team', 'key-43', 'ann', 'add-remove', 'count_events', 'f80aa03dc16e8efeda851d6b764fa9af2eb019ec5110d52053e0ff0aef93d048', '{"by": "l\u00e4ndcode", "source": "shared by a team", "user": "user_id", "where": "a = ''b''"}', '{"epsilon": "1/10", "kind": "selection"}', 1250000000, 0, '2026-11-15T21:53:02+00:00', '9709fbe75946937361bd4f4c12126389cb0ce17a32ce69a57c555b6828c1a32f', 'd728ae78f49052b389ae38478369e52ce04c7226b90ffbe676dccaa3798e4f38');
INSERT INTO public.entries VALUES (98, 'charge', 'shared by a team', 'key-44', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 'add-remove', 'frequencies', 'a1e742707f6f212e0377fa4ba30c4e92cc55f846b542c52a42448a89d5e5eae0', '{"by": "l\u00e4ndcode", "source": "shared by a team", "user": "user_id", "where": "a = ''b''"}', '{"epsilon": "1/10", "kind": "selection"}', 1250000000, 0, '2026-11-15T21:53:02+00:00', 'd728ae78f49052b389ae38478369e52ce04c7226b90ffbe676dccaa3798e4f38', '0e2f4c0871da35b11281f3ac65067de5a8db8e4dca2e55cf466c2404ecc255ae');
INSERT INTO public.entries VALUES (99, 'result', 'web', 'key-3', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', '', '', '45fbf6a67b5efa7dbcc0c0ccf6bdd7ce207300314c009282515896ea4cd7a4e6', '', '{"charge": 27}', 0, 0, '2026-11-15T21:53:02+00:00', '0e2f4c0871da35b11281f3ac65067de5a8db8e4dca2e55cf466c2404ecc255ae', '3c71c359d98e85cc697bd41aea8d092775a8208f6b00586054b826895aa5bdf8');
INSERT INTO public.entries VALUES (100, 'result', 'web', 'key-7', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', '', '', 'b21917f18791ed1214037cb55dc005aff8e2771b0540e0b2a33cf0331de1c867', '', '{"charge": 33}', 0, 0, '2026-11-15T21:53:02+00:00', '3c71c359d98e85cc697bd41aea8d092775a8208f6b00586054b826895aa5bdf8', '3f36584cc0adfa831b4bb736692f69e6971d47f62152fdd843aaa83158d2803b');
INSERT INTO public.entries VALUES (101, 'result', 'panel', 'key-11', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', '', '', '40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880', '', '{"charge": 39}', 0, 0, '2026-11-15T21:53:02+00:00', '3f36584cc0adfa831b4bb736692f69e6971d47f62152fdd843aaa83158d2803b', '876db0806684abdd0705b7b4219baf1249e7a2efab32aa6015cd2a35b7a0d255');
INSERT INTO public.entries VALUES (102, 'result', 'panel', 'key-23', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', '', '', '45fbf6a67b5efa7dbcc0c0ccf6bdd7ce207300314c009282515896ea4cd7a4e6', '', '{"charge": 60}', 0, 0, '2026-11-15T21:53:02+00:00', '876db0806684abdd0705b7b4219baf1249e7a2efab32aa6015cd2a35b7a0d255', '412512e84919f9dbf9efe1c1e7a60730f538d67de64c41b21e081f14f437c1aa');
INSERT INTO public.entries VALUES (103, 'result', ' 	人口 👥 ‮odd
name ', 'key-27', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', '', '', 'b21917f18791ed1214037cb55dc005aff8e2771b0540e0b2a33cf0331de1c867', '', '{"charge": 66}', 0, 0, '2026-11-15T21:53:02+00:00', '412512e84919f9dbf9efe1c1e7a60730f538d67de64c41b21e081f14f437c1aa', 'ce4e35ca556b7bff8482be4ea45fc23c316a3fb30092e580b443a3005e22b44f');
INSERT INTO public.entries VALUES (104, 'result', 'Café', 'key-31', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', '', '', '40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880', '', '{"charge": 72}', 0, 0, '2026-11-15T21:53:02+00:00', 'ce4e35ca556b7bff8482be4ea45fc23c316a3fb30092e580b443a3005e22b44f', '5cd315e28d46a13505f39517a2f4626fff733c6a06a98549b2afdb34d26b7452');
INSERT INTO public.entries VALUES (105, 'result', 'shared by a team', 'key-43', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', '', '', '45fbf6a67b5efa7dbcc0c0ccf6bdd7ce207300314c009282515896ea4cd7a4e6', '', '{"charge": 97}', 0, 0, '2026-11-15T21:53:02+00:00', '5cd315e28d46a13505f39517a2f4626fff733c6a06a98549b2afdb34d26b7452', 'dbc7f525d767aaedaf9428a8e0dc741d902751e35323baebc951850fcef96912');


--
-- Data for Name: ledger; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.ledger VALUES ('8478fae43d9a491891bb37b1c1eb88ea');


--
-- Data for Name: ledger_version; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.ledger_version VALUES ('0001');


--
-- Data for Name: quotas; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.quotas VALUES ('shared by a team', 'never came', 6224817086, 17709303941, 0, 0);
INSERT INTO public.quotas VALUES ('shared by a team', 'ann', 83441717602, 237387656208, 1250000000, 0);
INSERT INTO public.quotas VALUES ('shared by a team', 'Zoë''s "web"; DROP TABLE entries; -- \ %s %(name)s {0} $1 ?', 22937446602, 65255927667, 1250000000, 0);


--
-- Data for Name: results; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.results VALUES (21, '\x');
INSERT INTO public.results VALUES (23, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO public.results VALUES (25, '\x7b22726f7773223a205b5b2261222c2031325d5d7d');
INSERT INTO public.results VALUES (29, '\x');
INSERT INTO public.results VALUES (31, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO public.results VALUES (34, '\x6772c3b6c39f6572');
INSERT INTO public.results VALUES (37, '\x');
INSERT INTO public.results VALUES (40, '\x7b22726f7773223a205b5b2261222c2031325d5d7d');
INSERT INTO public.results VALUES (42, '\x6772c3b6c39f6572');
INSERT INTO public.results VALUES (45, '\x');
INSERT INTO public.results VALUES (47, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO public.results VALUES (49, '\x7b22726f7773223a205b5b2261222c2031325d5d7d');
INSERT INTO public.results VALUES (51, '\x6772c3b6c39f6572');
INSERT INTO public.results VALUES (54, '\x');
INSERT INTO public.results VALUES (56, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO public.results VALUES (58, '\x7b22726f7773223a205b5b2261222c2031325d5d7d');
INSERT INTO public.results VALUES (62, '\x');
INSERT INTO public.results VALUES (64, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO public.results VALUES (67, '\x6772c3b6c39f6572');
INSERT INTO public.results VALUES (70, '\x');
INSERT INTO public.results VALUES (73, '\x7b22726f7773223a205b5b2261222c2031325d5d7d');
INSERT INTO public.results VALUES (75, '\x6772c3b6c39f6572');
INSERT INTO public.results VALUES (78, '\x');
INSERT INTO public.results VALUES (80, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO public.results VALUES (82, '\x7b22726f7773223a205b5b2261222c2031325d5d7d');
INSERT INTO public.results VALUES (84, '\x6772c3b6c39f6572');
INSERT INTO public.results VALUES (87, '\x');
INSERT INTO public.results VALUES (89, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO public.results VALUES (91, '\x7b22726f7773223a205b5b2261222c2031325d5d7d');
INSERT INTO public.results VALUES (27, '\x6772c3b6c39f6572');
INSERT INTO public.results VALUES (33, '\x7b22726f7773223a205b5b2261222c2031325d5d7d');
INSERT INTO public.results VALUES (39, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO public.results VALUES (60, '\x6772c3b6c39f6572');
INSERT INTO public.results VALUES (66, '\x7b22726f7773223a205b5b2261222c2031325d5d7d');
INSERT INTO public.results VALUES (72, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO public.results VALUES (97, '\x6772c3b6c39f6572');


--
-- Name: accounts accounts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (name);


--
-- Name: covers covers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.covers
    ADD CONSTRAINT covers_pkey PRIMARY KEY (source);


--
-- Name: entries entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (sequence);


--
-- Name: ledger ledger_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledger
    ADD CONSTRAINT ledger_pkey PRIMARY KEY (id);


--
-- Name: ledger_version ledger_version_pkc; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledger_version
    ADD CONSTRAINT ledger_version_pkc PRIMARY KEY (version_num);


--
-- Name: quotas quotas_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.quotas
    ADD CONSTRAINT quotas_pkey PRIMARY KEY (account, analyst);


--
-- Name: results results_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.results
    ADD CONSTRAINT results_pkey PRIMARY KEY (sequence);


--
-- Name: one_charge_per_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX one_charge_per_key ON public.entries USING btree (account, key) WHERE (kind = 'charge'::text);


--
-- Name: one_result_per_charge; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX one_result_per_charge ON public.entries USING btree (event) WHERE (kind = 'result'::text);


--
-- Name: accounts accounts_refuses_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER accounts_refuses_delete BEFORE DELETE ON public.accounts FOR EACH ROW EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: accounts accounts_refuses_truncate; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER accounts_refuses_truncate BEFORE TRUNCATE ON public.accounts FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: accounts accounts_refuses_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER accounts_refuses_update BEFORE UPDATE ON public.accounts FOR EACH ROW WHEN (((new.rho_spent < old.rho_spent) OR (new.delta_spent < old.delta_spent) OR (new.name <> old.name) OR (new.neighbours <> old.neighbours) OR (new.stated_delta <> old.stated_delta) OR (new.rho_limit <> old.rho_limit) OR (new.delta_limit <> old.delta_limit) OR (new.has_quotas < old.has_quotas))) EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: covers covers_refuses_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER covers_refuses_delete BEFORE DELETE ON public.covers FOR EACH ROW EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: covers covers_refuses_truncate; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER covers_refuses_truncate BEFORE TRUNCATE ON public.covers FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: covers covers_refuses_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER covers_refuses_update BEFORE UPDATE ON public.covers FOR EACH ROW EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: entries entries_refuses_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER entries_refuses_delete BEFORE DELETE ON public.entries FOR EACH ROW EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: entries entries_refuses_truncate; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER entries_refuses_truncate BEFORE TRUNCATE ON public.entries FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: entries entries_refuses_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER entries_refuses_update BEFORE UPDATE ON public.entries FOR EACH ROW EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: ledger ledger_refuses_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER ledger_refuses_delete BEFORE DELETE ON public.ledger FOR EACH ROW EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: ledger ledger_refuses_truncate; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER ledger_refuses_truncate BEFORE TRUNCATE ON public.ledger FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: ledger ledger_refuses_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER ledger_refuses_update BEFORE UPDATE ON public.ledger FOR EACH ROW EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: quotas quotas_refuses_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER quotas_refuses_delete BEFORE DELETE ON public.quotas FOR EACH ROW EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: quotas quotas_refuses_truncate; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER quotas_refuses_truncate BEFORE TRUNCATE ON public.quotas FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: quotas quotas_refuses_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER quotas_refuses_update BEFORE UPDATE ON public.quotas FOR EACH ROW WHEN (((new.rho_spent < old.rho_spent) OR (new.delta_spent < old.delta_spent))) EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: results results_refuses_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER results_refuses_delete BEFORE DELETE ON public.results FOR EACH ROW EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: results results_refuses_truncate; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER results_refuses_truncate BEFORE TRUNCATE ON public.results FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- Name: results results_refuses_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER results_refuses_update BEFORE UPDATE ON public.results FOR EACH ROW EXECUTE FUNCTION public.ledger_keeps_rows();


--
-- PostgreSQL database dump complete
--


