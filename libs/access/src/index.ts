export { type Acl, grants, parseAcl, writeForbidden } from './acl.js';
export { classForbidden, isGranted } from './class-permission.js';
export { ANONYMOUS, granteesOf } from './principal.js';
