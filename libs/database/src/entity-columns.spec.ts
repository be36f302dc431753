import { Column, Entity, PrimaryColumn } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { columnsOf, insertStatement, selectList, updateStatement } from './entity-columns.js';

@Entity('books')
class BookEntity {
  @PrimaryColumn('text')
  shelfId!: string;

  @PrimaryColumn('text')
  isbn!: string;

  @Column('jsonb', { nullable: true })
  tags!: readonly string[] | null;

  @Column({ type: 'timestamptz', precision: 3 })
  createdAt!: Date;
}

class ShelvedEntity {
  @Column('integer')
  shelfNumber!: number;
}

@Entity('maps')
class MapEntity extends ShelvedEntity {
  @PrimaryColumn('text')
  id!: string;
}

const BOOK = { shelfId: 'a', isbn: '1', tags: ['old'], createdAt: new Date(0) };

describe('the columns of an entity', () => {
  it('have the names, types and keys of its decorators', () => {
    expect(columnsOf(BookEntity, { except: ['isbn', 'tags'] })).toEqual([
      { property: 'shelfId', name: 'shelf_id', type: 'text', isPrimary: true },
      { property: 'createdAt', name: 'created_at', type: 'timestamptz', isPrimary: false },
    ]);
  });

  it('include those of its base class', () => {
    expect(columnsOf(MapEntity).map(({ name }) => name)).toEqual(['shelf_number', 'id']);
  });

  it('make the list of a SELECT', () => {
    expect(selectList(BookEntity)).toBe('shelf_id AS "shelfId", isbn, tags, created_at AS "createdAt"');
    expect(selectList(BookEntity, { except: ['shelfId', 'tags'] })).toBe('isbn, created_at AS "createdAt"');
    expect(selectList(BookEntity, { except: ['shelfId', 'tags'], table: 'books' })).toBe(
      'books.isbn, books.created_at AS "createdAt"',
    );
  });

  it('make an INSERT with the values of a row, lists as JSON', () => {
    const { text, values } = insertStatement(BookEntity, 'library.books');

    expect(text).toBe('INSERT INTO library.books (shelf_id, isbn, tags, created_at) VALUES ($1, $2, $3, $4)');
    expect(values(BOOK)).toEqual(['a', '1', '["old"]', new Date(0)]);
    expect(values({ ...BOOK, tags: null })).toEqual(['a', '1', null, new Date(0)]);
  });

  it('make an UPDATE by the primary key', () => {
    const { text, values } = updateStatement(BookEntity, 'library.books', { except: ['createdAt'] });

    expect(text).toBe('UPDATE library.books SET tags = $3 WHERE shelf_id = $1 AND isbn = $2');
    expect(values(BOOK)).toEqual(['a', '1', '["old"]']);
  });
});
