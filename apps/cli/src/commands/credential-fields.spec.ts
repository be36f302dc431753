import { describe, expect, it } from 'vitest';
import { platformFields } from '#contracts';
import { credentialFields, describeKinds, shownFields, usageOf } from './credentials.command.js';

const contents: Record<string, string> = {
  './key': 'hush\n',
  './two-lines': 'one\ntwo\r\n',
  '-': 'piped',
  './empty': '',
};
const read = (source: string) => {
  const text = contents[source];
  if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  return text;
};
const fieldsOf = (...args: string[]) =>
  credentialFields({ name: 'lc_weapp', fields: platformFields('lc_weapp') }, args, read);

describe('the fields of credentials on the command line', () => {
  it('are plain values if they are not secret', () => {
    expect(fieldsOf('appId=wx=1')).toEqual({ appId: 'wx=1' });
  });

  it.each([
    ['appSecret=@./key', 'hush'],
    ['appSecret=@./two-lines', 'one\ntwo'],
    ['appSecret=-', 'piped'],
    ['appSecret=@./empty', ''],
  ])('come from a file or from standard input, without the last line break: %s', (argument, value) => {
    expect(fieldsOf(argument)).toEqual({ appSecret: value });
  });

  it.each([
    ['appSecret=SECRET', /^appSecret is a secret, .*appSecret=@path.*appSecret=-/],
    ['SECRET', /^Field 1 is not a field of lc_weapp\. Its fields: appId=VALUE appSecret=@FILE$/],
    ['SECRET==', /^Field 1 is not a field/],
    ['appSecret', /^Field 1 is not a field/],
    ['__proto__=SECRET', /^Field 1 is not a field/],
    ['appSecret=@./missing', /^appSecret: the file \.\/missing cannot be read \(ENOENT\)\.$/],
  ])('are refused, and the message does not repeat them: %s', (argument, message) => {
    expect(() => fieldsOf(argument)).toThrow(message);
    expect(() => fieldsOf(argument)).not.toThrow(/SECRET/);
  });

  it('cannot be given twice', () => {
    expect(() => fieldsOf('appId=a', 'appId=b')).toThrow('appId is given twice.');
  });

  it('are described in the syntax of the command line', () => {
    expect(usageOf(platformFields('lc_apple'))).toBe('clientId=VALUE [teamId=VALUE] [keyId=VALUE] [privateKey=@FILE]');
  });

  it('are listed in columns, as wide as the longest name', () => {
    const field = { isSecret: false, isRequired: true, description: 'Words.' };
    const kinds = [
      {
        name: 'kind',
        fields: [
          { ...field, name: 'messagingServiceSid' },
          { ...field, name: 'from' },
        ],
      },
    ];
    expect(describeKinds(kinds)).toBe(
      `  ${'kind'.padEnd(12)}messagingServiceSid Words.\n  ${' '.repeat(12)}${'from'.padEnd(20)}Words.`,
    );
    expect(shownFields({ messagingServiceSid: 'MG1' }, ['authToken'])).toEqual([
      '  messagingServiceSid MG1',
      `  ${'authToken'.padEnd(20)}(secret)`,
    ]);
  });
});
