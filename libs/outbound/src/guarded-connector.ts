import dns, { type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { NetworkGuard } from './network-guard.js';

/** A connection that would have gone into a network of our own. */
class InternalAddressError extends Error {
  readonly code = 'INTERNAL_ADDRESS';
}

/**
 * Connects to nothing that the guard forbids. Names are judged by the addresses that the connection is then made to, so a
 * name whose answer changes from look-up to look-up gains nothing.
 */
export function guardedConnector(guard: NetworkGuard, timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, lookup: guardedLookup(guard) });
  return (options, callback) => {
    // An address in place of a name is never looked up.
    if (isIP(options.hostname) === 0 || guard.permits(options.hostname)) connect(options, callback);
    else callback(new InternalAddressError('the address is internal'), null);
  };
}

function guardedLookup(guard: NetworkGuard): LookupFunction {
  return (hostname, options, callback) => {
    dns.lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error !== null) {
        callback(error, '');
        return;
      }
      const permitted = addresses.filter(({ address }) => guard.permits(address));
      const [first] = permitted;
      if (first === undefined) callback(new InternalAddressError('the name leads to internal addresses'), '');
      else if (options.all === true) callback(null, permitted);
      else callback(null, first.address, first.family);
    });
  };
}
