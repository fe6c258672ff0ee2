export { Device, type Ran, type Store } from "./device.js";
export { Http, type Offer, type Transport } from "./http.js";
export { POLICY, type Policy } from "./policy.js";
