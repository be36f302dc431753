import type { PipeTransform } from '@nestjs/common';
import type { z } from 'zod';
import { appError } from '#errors';
import { UnparseableEvent } from './unparseable-event.js';

type Refuse = (reason: string) => Error;

/** Parses what came over a transport against the contract: the trust border of a service. */
export class ContractPipe implements PipeTransform {
  private constructor(
    private readonly schema: z.ZodType,
    private readonly refuse: Refuse,
  ) {}

  static forRpc(schema: z.ZodType): ContractPipe {
    return new ContractPipe(schema, (message) => appError('INCORRECT_TYPE', { message }));
  }

  static forEvent(schema: z.ZodType): ContractPipe {
    return new ContractPipe(schema, (reason) => new UnparseableEvent(reason));
  }

  transform(value: unknown): unknown {
    const parsed = this.schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw this.refuse(describe(parsed.error));
  }
}

function describe(error: z.ZodError): string {
  const [first] = error.issues;
  return first === undefined
    ? 'The request is malformed.'
    : `${first.path.join('.') || 'The request'}: ${first.message}`;
}
