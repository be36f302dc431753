import { z } from 'zod';
import { isUserOrRole } from './object-id.js';

const MAX_GRANTEES = 100;

/** A user id, or `role:<name>`. */
const grantee = z.string().refine(isUserOrRole, 'must be everyone, users, nobody, user ids, or role:<name>');

/** Who may: everyone, whoever is logged in, or the listed users and roles. Nobody but the master key where the list is empty. */
export const classPermission = z.union([z.literal('everyone'), z.literal('users'), z.array(grantee).max(MAX_GRANTEES)]);

export type ClassPermission = z.output<typeof classPermission>;

const open = classPermission.default('everyone');
const closed = classPermission.default([]);

/** What may be done with a class as a whole, whatever the ACLs of its objects say (docs/api.md, Class permissions). */
export const classPermissions = z.object({
  _User: z.object({ find: closed, get: open, create: open, update: open, delete: open }).prefault({}),
  _Role: z.object({ find: open, get: open, create: open, update: open, delete: open }).prefault({}),
  _Installation: z.object({ find: closed, get: open, create: open, update: open, delete: closed }).prefault({}),
});

export type ClassPermissions = z.output<typeof classPermissions>;
export type ClassName = keyof ClassPermissions;
export type ClassOperation = keyof ClassPermissions[ClassName];

export const CLASS_NAMES = Object.keys(classPermissions.shape) as ClassName[];
export const CLASS_OPERATIONS = ['find', 'get', 'create', 'update', 'delete'] as const satisfies ClassOperation[];
