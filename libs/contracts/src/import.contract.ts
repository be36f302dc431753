import { z } from 'zod';
import { appId } from './application.schema.js';
import { jsonObject, rpc } from './messages.schema.js';
import { objectId } from './objects.contract.js';
import { MAX_UID_LENGTH, platformKind, platformName } from './user.schema.js';

export const MAX_IMPORTED_OBJECTS = 1_000;
export const MAX_IMPORTED_MEMBERS = 10_000;
/** With `wrapPasswords` a batch waits for hashing threads. */
const IMPORT_TIMEOUT_MS = 20_000;

/** The stored password of another server: LeanCloud's salted SHA-512, or a bcrypt hash (docs/leaving-leancloud.md). */
export const importedPassword = z.discriminatedUnion('scheme', [
  z.object({ scheme: z.literal('leancloud'), salt: z.string().max(256), hash: z.string().length(88) }),
  z.object({ scheme: z.literal('bcrypt'), hash: z.string().length(60) }),
]);

export type ImportedPassword = z.output<typeof importedPassword>;

const importedIdentity = z.object({
  platform: platformName,
  uid: z.string().min(1).max(MAX_UID_LENGTH),
  kind: platformKind.optional(),
  isVerified: z.boolean(),
  entry: jsonObject,
  unionIdEntry: platformName.optional(),
});

export type ImportedIdentity = z.output<typeof importedIdentity>;

/** An object of another server, parsed and normalised by the sender. */
export const importedObject = z.object({
  objectId,
  createdAt: z.iso.datetime(),
  /** `updatedAt` stands for `createdAt`. */
  isCreationUnknown: z.literal(true).optional(),
  updatedAt: z.iso.datetime(),
  acl: jsonObject.nullable(),
  columns: jsonObject,
  fields: jsonObject,
  password: importedPassword.optional(),
  sessionToken: z.string().min(1).max(128).optional(),
  identities: z.array(importedIdentity).optional(),
});

export type ImportedObject = z.output<typeof importedObject>;

export const TAKEN = 'is taken';
/** A value that was not stored, or that an unchanged object lacks. `by`: the object that has it. */
const importNote = z.object({ field: z.string(), reason: z.string(), by: z.string().optional() });

export type ImportNote = z.output<typeof importNote>;

/** The fields, besides linked accounts, that an import adds to a stored user of the same `updatedAt`: an earlier import can have left them out. */
export const COMPLETED_FIELDS = ['password', 'sessionToken', 'email', 'mobilePhoneNumber'] as const;

export type CompletedField = (typeof COMPLETED_FIELDS)[number];

const lacks = z.array(z.enum(COMPLETED_FIELDS)).optional();

const importVerdict = z.object({
  outcome: z.enum(['imported', 'imported_without', 'unchanged', 'kept_newer', 'refused']),
  notes: z.array(importNote),
  /** The fields that the object lacks after the import. Absent: the object is not written. */
  lacks,
});

export type ImportVerdict = z.output<typeof importVerdict>;

const importObjectsRequest = z.object({
  appId,
  className: z.enum(['_User', '_Role', '_Installation']),
  objects: z.array(importedObject).max(MAX_IMPORTED_OBJECTS),
  /** Nothing is written. The verdicts are those of an import that runs now. */
  isPreview: z.boolean(),
  wrapPasswords: z.boolean().default(false),
  /** A new id of this batch, for the `after` of the next one. */
  batchId: z.uuid().optional(),
  /** The batch sent before, where its reply has not arrived yet: this one waits for it. */
  after: z.uuid().optional(),
  /** The state that earlier batches of a preview would have left. */
  earlier: z
    .object({
      /** By claim, the object that would have it; null: it would be free. */
      owners: z.record(z.string(), z.string().nullable()),
      objects: z.array(z.object({ objectId, createdAt: z.iso.datetime(), updatedAt: z.iso.datetime(), lacks })),
    })
    .optional(),
});

export type ImportObjectsRequest = z.output<typeof importObjectsRequest>;

const importObjectsReply = z.object({
  verdicts: z.array(importVerdict),
  released: z.array(z.string()),
  /** False: nothing was done, because the batch `after` failed or is unknown to this process. Repeat the request after the reply to that batch. */
  isDone: z.boolean().default(true),
});

export type ImportObjectsReply = z.output<typeof importObjectsReply>;

function importRpc(service: 'accounts' | 'push-delivery') {
  return {
    /** Idempotent by `objectId`: the same `updatedAt` adds what is missing, a newer object replaces, an older one is kept. No events (ADR 33). */
    importObjects: rpc(`${service}.importObjects`, importObjectsRequest, importObjectsReply, IMPORT_TIMEOUT_MS),
  };
}

export type ObjectImportRpc = ReturnType<typeof importRpc>;

const member = z.object({
  role: z.string().min(1).max(255),
  /** The id of the user or role, or its username or name. */
  member: z.string().min(1).max(255),
});

export const accountsImportRpc = {
  ...importRpc('accounts'),
  /** Adds members to roles. `unknown`: the positions of members whose role or object does not exist; `known`: those that were members. */
  importMembers: rpc(
    'accounts.importMembers',
    z.object({
      appId,
      field: z.enum(['users', 'roles']),
      members: z.array(member).max(MAX_IMPORTED_MEMBERS),
      isPreview: z.boolean(),
    }),
    z.object({
      unknown: z.array(z.object({ index: z.number().int(), hasRole: z.boolean(), hasMember: z.boolean() })),
      known: z.array(z.number().int()),
    }),
    IMPORT_TIMEOUT_MS,
  ),
};
export const pushImportRpc = importRpc('push-delivery');
