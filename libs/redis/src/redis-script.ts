import { createHash } from 'node:crypto';

/**
 * A Lua script: one move, which Redis makes as a whole. It must take the names of its keys from KEYS, or begin them with one of
 * those and its hash tag, so that all lie on one node of a cluster; and the time from `TIME`: clocks of replicas differ.
 *
 * A script of several keys is also given one that is never there. While a cluster moves the keys of its slot to another node
 * one by one, the script would find some of them missing. Given a key that is missing among others, both nodes refuse it with
 * TRYAGAIN before it begins, until all keys have moved.
 */
export class RedisScript {
  /** The name under which Redis keeps the script. */
  readonly sha1: string;

  constructor(readonly lua: string) {
    this.sha1 = createHash('sha1').update(lua).digest('hex');
  }
}

/**
 * Lua that defines `isBehind(one, other)`: whether a text stands behind another one by its bytes, as JavaScript and PostgreSQL's
 * collation "C" order ids. Lua's own operators follow the locale of the server.
 */
export const IS_BEHIND = `
local function isBehind(one, other)
  for place = 1, math.min(#one, #other) do
    local left, right = string.byte(one, place), string.byte(other, place)
    if left ~= right then return left > right end
  end
  return #one > #other
end
`;
