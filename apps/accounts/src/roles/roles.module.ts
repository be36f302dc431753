import { roleClass } from '#objects';
import { ObjectsModule } from '#objects/store';
import { AccountsObjectsModule } from '../objects/objects.module.js';
import { RoleEntity } from './role.entity.js';

/** Roles. The ACL of a role decides which callers may change its members. */
export const RolesModule = ObjectsModule.forClass(AccountsObjectsModule, {
  objectClass: roleClass,
  entity: RoleEntity,
});
