import { ApiError } from "./errors";
import { request, type Call, type Method, type PathOf, type ResponseBody } from "./http";

/** Requests to the server's HTTP API. */
export abstract class BaseClient {
  constructor(
    /** Called when the server refuses the login or the page has none. */
    private readonly onLoggedOut: () => void = () => undefined,
  ) {}

  protected async json<M extends Method, P extends PathOf<M>>(method: M, path: P, call: Call<M, P>): Promise<ResponseBody<M, P>> {
    const response = await this.request(method, path, call);
    return (await response.json()) as ResponseBody<M, P>;
  }

  protected async request<M extends Method, P extends PathOf<M>>(method: M, path: P, call: Call<M, P>): Promise<Response> {
    try {
      return await request(method, path, call);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.onLoggedOut();
      throw error;
    }
  }
}
