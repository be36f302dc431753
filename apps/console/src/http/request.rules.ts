export interface RequestHead {
  readonly method: string;
  /** `sec-fetch-site`: browsers set it, pages cannot. */
  readonly fetchSite: string | undefined;
  /** `sec-fetch-dest`: `empty` for requests by scripts. */
  readonly fetchDest: string | undefined;
  readonly origin: string | undefined;
  readonly contentType: string | undefined;
  /** `x-gatepost-console`: a page of another origin cannot send it without a preflight, which fails. */
  readonly marker: string | undefined;
}

/**
 * Undefined for a request of the console's own page. Other sites can neither act nor probe, nor can pages on other ports of the same host,
 * which `SameSite` cookies would let in.
 */
export function refusalOf(head: RequestHead, origins: readonly string[]): string | undefined {
  if (head.fetchSite === undefined) return 'The browser sends no Sec-Fetch-Site header. Use a newer browser.';
  if (head.fetchSite !== 'same-origin') return 'The request comes from another site.';
  // Styles and images of a mail that the page shows must not ask for anything.
  if ((head.fetchDest ?? 'empty') !== 'empty') return 'Only scripts of the page can call the API.';
  return head.method === 'GET' || head.method === 'HEAD' ? undefined : refusalOfChange(head, origins);
}

function refusalOfChange(head: RequestHead, origins: readonly string[]): string | undefined {
  if (head.origin === undefined || !origins.includes(head.origin)) return 'The request comes from another origin.';
  if (head.contentType?.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json')
    return 'The content type must be application/json.';
  return head.marker === '1' ? undefined : 'The header X-Gatepost-Console is missing.';
}

/** Another name that resolves to the console is an attack by DNS rebinding, or a mistake. */
export function isOwnHost(host: string | undefined, origins: readonly string[]): boolean {
  return host !== undefined && origins.some((origin) => new URL(origin).host === host.toLowerCase());
}

export function cookiesOf(header = ''): readonly (readonly [name: string, value: string])[] {
  return header.split(';').map((pair) => {
    const [name = '', value = ''] = pair.trim().split(/=(.*)/s, 2);
    return [name, value];
  });
}

export function cookieOf(header: string | undefined, name: string): string | undefined {
  return cookiesOf(header).find(([key]) => key === name)?.[1];
}

const MAX_BROWSER_LENGTH = 200;

export function browserOf(userAgent: string | undefined): string {
  return (userAgent ?? '').replaceAll(/[^\x20-\x7e]/g, '').slice(0, MAX_BROWSER_LENGTH);
}
