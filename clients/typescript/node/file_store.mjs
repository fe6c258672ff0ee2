// A device's store on Node: a file for each value, in a folder that is its user's alone and in no backup.
import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, readdir, rename, unlink } from "node:fs/promises";

const unless = (code) => (error) => {
  if (error.code !== code) throw error;
};

export class FileStore {
  constructor(folder) {
    this.folder = folder;
  }

  get(key) {
    return readFile(`${this.folder}/${key}`, "utf8").catch(unless("ENOENT"));
  }

  async add(key, value) {
    const draft = await this.draft(value);
    // Whoever comes second finds the first one's.
    await link(draft, `${this.folder}/${key}`).catch(unless("EEXIST"));
    await unlink(draft);
    await this.sync();
    return this.get(key);
  }

  async set(key, value) {
    await rename(await this.draft(value), `${this.folder}/${key}`);
    await this.sync();
  }

  async delete(key) {
    await unlink(`${this.folder}/${key}`).catch(unless("ENOENT"));
    await this.sync();
  }

  async keys() {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    return (await readdir(this.folder)).filter((name) => !name.startsWith("."));
  }

  async draft(value) {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const path = `${this.folder}/.${randomUUID()}`;
    const file = await open(path, "wx", 0o600);
    await file.writeFile(value);
    await file.sync();
    await file.close();
    return path;
  }

  async sync() {
    const folder = await open(this.folder, "r");
    await folder.sync();
    await folder.close();
  }
}
