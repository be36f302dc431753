/** The WebSocket addresses that devices are told. */
export interface PushUrls {
  readonly server: string;
  readonly secondary: string;
}

/** Where connectors answer devices. */
const PATH = '/push';

/** The address of a connector on the API's host; on the API's own port unless given. As safe as the API is. */
export function pushUrlBeside(baseUrl: string, port?: number): string {
  const url = new URL(PATH, baseUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  if (port !== undefined) url.port = String(port);
  return url.href;
}
