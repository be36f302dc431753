import { columnTests } from './compile-column.js';
import type { CompileContext, TestCompilers } from './compile-context.js';
import { jsonTests } from './compile-json.js';
import { relationTests } from './compile-relation.js';
import { jsonTarget } from './json-target.js';
import type { FieldCondition, FieldTestKind, FieldTestOf } from './query.js';
import { targetOf } from './query-target.js';

/** The SQL of one condition on one field; NULL counts as false. @throws AppError INVALID_QUERY where it cannot be asked */
export function compileField({ field, test }: FieldCondition, context: CompileContext): string {
  const target = targetOf(field, context.queryClass);
  switch (target.kind) {
    case 'column':
      return compileTest(test, columnTests, target.column, context);
    case 'relation':
      return compileTest(test, relationTests, target.relation, context);
    case 'json':
      return compileTest(test, jsonTests, jsonTarget(field, context), context);
  }
}

function compileTest<Kind extends FieldTestKind, Target>(
  test: FieldTestOf<Kind>,
  tests: TestCompilers<Target>,
  target: Target,
  context: CompileContext,
): string {
  return tests[test.kind](test, target, context);
}
