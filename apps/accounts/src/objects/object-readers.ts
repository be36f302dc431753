import { Injectable } from '@nestjs/common';
import { RoleReader } from '../roles/role.reader.js';
import { UserReader } from '../users/user.reader.js';
import type { ObjectReader } from './object-reader.js';
import type { StoredClassName } from './reading.types.js';

/** The reader of each class. */
@Injectable()
export class ObjectReaders {
  readonly #readers: Readonly<Record<StoredClassName, ObjectReader>>;

  constructor(users: UserReader, roles: RoleReader) {
    this.#readers = { _User: users, _Role: roles };
  }

  of(className: StoredClassName): ObjectReader {
    return this.#readers[className];
  }
}
