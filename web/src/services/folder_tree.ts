import type { Folder } from "./api/types";

/** Levels of folders inside each other that the server allows. */
export const MAX_FOLDER_DEPTH = 5;

/** All folders of a person, some of them inside others. */
export class FolderTree {
  private readonly byId: ReadonlyMap<string, Folder>;

  constructor(readonly folders: readonly Folder[]) {
    this.byId = new Map(folders.map((folder) => [folder.id, folder]));
  }

  get(id: string | null): Folder | null {
    return (id !== null && this.byId.get(id)) || null;
  }

  /** Return the folders directly inside a folder, or at the top. */
  inside(id: string | null): Folder[] {
    return this.folders.filter(({ parent_id }) => (this.byId.has(parent_id ?? "") ? parent_id : null) === id);
  }

  /** Return the folder, the one that it is inside, and so on to the top. */
  wayUp(id: string | null): Folder[] {
    const way: Folder[] = [];
    for (let folder = this.get(id); folder !== null; folder = this.get(folder.parent_id)) way.push(folder);
    return way;
  }

  /** Return the ids of a folder and of all folders inside it. */
  within(id: string): Set<string> {
    return new Set(this.folders.filter((each) => this.wayUp(each.id).some((above) => above.id === id)).map((each) => each.id));
  }

  /** Return the names from the top down to a folder, as one line. */
  label(id: string): string {
    return this.wayUp(id)
      .map(({ name }) => name)
      .reverse()
      .join(" / ");
  }

  /** Return the ids and lines of all folders, each after the one that it is inside. */
  get labels(): [string, string][] {
    const below = (id: string | null): [string, string][] =>
      this.inside(id).flatMap((folder) => [[folder.id, this.label(folder.id)] as [string, string], ...below(folder.id)]);
    return below(null);
  }

  /** Return the folders that a folder can be inside: neither itself nor one inside it, and not too deep. Null is a new folder. */
  placesFor(id: string | null): [string, string][] {
    const own = id === null ? new Set<string>() : this.within(id);
    const depth = (each: string | null) => this.wayUp(each).length;
    const height = id === null ? 1 : 1 + Math.max(...[...own].map(depth)) - depth(id);
    return this.labels.filter(([place]) => !own.has(place) && depth(place) + height <= MAX_FOLDER_DEPTH);
  }

  /** Return the system prompt of new chats in a folder: the nearest one on the way up. */
  systemPrompt(id: string | null): string | null {
    return this.wayUp(id).find(({ system_prompt }) => system_prompt !== null)?.system_prompt ?? null;
  }
}
