import type { PipeTransform } from '@nestjs/common';
import type { z } from 'zod';
import { appError } from '#errors';

/** Parses what came over a transport against the contract: the trust border of a service. */
export class ContractPipe implements PipeTransform {
  constructor(private readonly schema: z.ZodType) {}

  transform(value: unknown): unknown {
    const parsed = this.schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw appError('INCORRECT_TYPE', { message: describe(parsed.error) });
  }
}

function describe(error: z.ZodError): string {
  const [first] = error.issues;
  return first === undefined
    ? 'The request is malformed.'
    : `${first.path.join('.') || 'The request'}: ${first.message}`;
}
