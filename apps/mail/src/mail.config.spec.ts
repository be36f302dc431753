import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '#bootstrap';
import { mailConfig, mailEnvironment } from './mail.config.js';

const PRODUCTION = { NODE_ENV: 'production', DATABASE_URL: 'postgres://localhost/gatepost' };
const configOf = (env: Record<string, string>) =>
  mailConfig(loadConfig(mailEnvironment, { GATEPOST_SECRET: 's'.repeat(32), ...env }));

describe('the configuration of mail', () => {
  it('in production requires the base URL of links', () => {
    expect(() => configOf(PRODUCTION)).toThrow(/GATEPOST_BASE_URL: must be set in production/);
    expect(configOf({ ...PRODUCTION, GATEPOST_BASE_URL: 'https://a.example/' }).baseUrl).toBe('https://a.example');
  });

  it('in production requires the sender address if SMTP is configured', () => {
    const env = { ...PRODUCTION, GATEPOST_BASE_URL: 'https://a.example', SMTP_URL: 'smtp://smtp.example' };
    expect(() => configOf(env)).toThrow(/GATEPOST_MAIL_FROM: must be set if SMTP_URL is set/);
    expect(configOf({ ...env, GATEPOST_MAIL_FROM: 'us@a.example' }).mailFrom).toBe('us@a.example');
  });

  it('in development has defaults for both', () => {
    expect(configOf({})).toMatchObject({
      baseUrl: 'http://localhost:8080',
      mailFrom: 'no-reply@localhost',
      smtp: undefined,
    });
  });

  it('never reveals the password of the SMTP server', () => {
    const config = configOf({ SMTP_URL: 'smtps://mailer:hush-hush@smtp.example' });
    expect(inspect(config, { depth: null }) + JSON.stringify(config)).not.toContain('hush-hush');
    expect(config.smtp?.url.reveal()).toContain('hush-hush');
  });

  it.each([
    ['off', undefined],
    ['10000/3600', { count: 10_000, seconds: 3_600 }],
  ])('reads the limit of mails %s', (text, limit) => {
    expect(configOf({ GATEPOST_RATE_LIMIT_MAILS: text }).mailLimit).toEqual(limit);
  });

  it('prefers its own database URL over the common one', () => {
    const own = 'postgres://localhost/mail';
    expect(configOf({ GATEPOST_MAIL_DATABASE_URL: own }).databaseUrl).toBe(own);
  });
});
