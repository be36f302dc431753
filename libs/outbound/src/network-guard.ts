import ipaddr from 'ipaddr.js';

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Networks that have a name, as in GATEPOST_TRUSTED_PROXIES. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** All that is given out of IPv6: what lies beside it, such as `::7f00:1` (an IPv4 address in an old form), is nobody's. */
const OPEN_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Says which addresses may be dialled: those of the open internet, and the internal networks that are given. */
export class NetworkGuard {
  readonly #internal: Network[];

  /** @param internalNetworks addresses, networks, or their names, as GATEPOST_INTERNAL_NETWORKS has them */
  constructor(internalNetworks: readonly string[]) {
    this.#internal = internalNetworks.flatMap((text) => NAMED[text] ?? [text]).map(toNetwork);
  }

  permits(address: string): boolean {
    if (!ipaddr.isValid(address)) return false;
    // An IPv4 address in the clothes of IPv6 is judged as what it is.
    const parsed = ipaddr.process(address);
    // A list of what is open, not of what is closed: whatever range is added to the standards is closed first.
    if (parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(OPEN_IPV6))) return true;
    return ipaddr.subnetMatch(parsed, { internal: this.#internal }, 'none') === 'internal';
  }
}

function toNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
