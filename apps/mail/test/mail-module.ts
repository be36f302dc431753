import { randomUUID } from 'node:crypto';
import type { Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DatabaseModule, type DatabaseOptions, migrate } from '#database';
import { Metrics, ObservabilityModule } from '#observability';
import { newDatabase } from '#testing';
import type { DeliveriesRepository } from '../src/deliveries/deliveries.repository.js';
import { MAIL_CONFIG, MailDatabase } from '../src/mail.config.js';
import { mailDatabase } from '../src/mail.database.js';

/** A module with the given providers over a new database of the mail service. */
export async function mailModule(poolSize: number, ...providers: Type[]): Promise<TestingModule> {
  const options = mailDatabase(await newDatabase(), poolSize);
  await migrate(options);
  return openMailModule(options, ...providers);
}

export function openMailModule(options: DatabaseOptions, ...providers: Type[]): Promise<TestingModule> {
  return Test.createTestingModule({
    imports: [ObservabilityModule.forRoot(new Metrics()), DatabaseModule.forRoot(options, MailDatabase)],
    providers: [{ provide: MAIL_CONFIG, useValue: { mailLimit: undefined } }, ...providers],
  }).compile();
}

/** A claim of ten mails that leaves none out. */
export function newClaim(): Parameters<DeliveriesRepository['claim']>[1] {
  return { channel: 'mail', lease: randomUUID(), leaseSeconds: 60, limit: 10, paused: [], probed: [], held: [] };
}
