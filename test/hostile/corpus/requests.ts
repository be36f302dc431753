import type { DescribedOperation } from '../../journeys/suites/api-description.js';
import { CREDENTIALS } from '../credentials.js';
import type { HostileRequest } from '../hostile-request.js';
import { objectIds } from '../sensible-values.js';
import { HOSTILE_BODIES } from './bodies.js';
import { HOSTILE_HEADERS } from './headers.js';
import { HOSTILE_TARGETS, HOSTILE_TEXTS } from './texts.js';

const JSON_BODY = { 'content-type': 'application/json' };
const BY_MYSELF = 'own session';
const ALL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'];

/** Every known attack at every place of every endpoint: its body, its parameters, its path, its headers. */
export function corpusFor(operations: readonly DescribedOperation[]): HostileRequest[] {
  return [...operations.filter(({ path, mainPath }) => path === mainPath).flatMap(attacksOn), ...elsewhere()];
}

function attacksOn({ method, path, operation }: DescribedOperation): HostileRequest[] {
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => objectIds(path, name)[0] ?? '');
  const at = (rest: Partial<HostileRequest>): HostileRequest => ({
    method,
    target,
    headers: { ...CREDENTIALS[BY_MYSELF], ...(method === 'GET' ? {} : JSON_BODY), ...rest.headers },
    as: BY_MYSELF,
    body: rest.body,
    ...(rest.target === undefined ? {} : { target: rest.target }),
  });
  const queries = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  return [
    ...(method === 'GET' ? [] : HOSTILE_BODIES.map((body) => at({ body }))),
    ...HOSTILE_HEADERS.map((headers) => at({ headers, ...(method === 'GET' ? {} : { body: '{}' }) })),
    ...queries.flatMap((name) => HOSTILE_TEXTS.map((text) => at({ target: `${target}?${name}=${encoded(text)}` }))),
    ...(path.includes('{') ? HOSTILE_TEXTS.map((text) => at({ target: path.replace(/\{\w+\}/, encoded(text)) })) : []),
  ];
}

/** Addresses that are no endpoint's, by all methods; and the form of browsers, which says in its body what it wants. */
function elsewhere(): HostileRequest[] {
  const headers = CREDENTIALS[BY_MYSELF] ?? {};
  return [
    ...HOSTILE_TARGETS.flatMap((target) => ALL_METHODS.map((method) => ({ method, target, headers, as: BY_MYSELF }))),
    ...['/1.1/users/$MY_USER', '/1.1/users', '/1.1/batch'].flatMap((target) =>
      HOSTILE_BODIES.map((body) => ({
        method: 'POST',
        target,
        headers: { ...headers, 'content-type': 'text/plain' },
        body,
        as: BY_MYSELF,
      })),
    ),
  ];
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%24', '$');
}
