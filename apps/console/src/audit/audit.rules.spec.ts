import { expect, it } from 'vitest';
import { changeOf, isSecretSetting } from './audit.rules.js';

it.each(['testPhones', 'forwardSecret'])('a new value of the setting %s is not in the audit log', (name) => {
  expect(changeOf({ value: 'a secret' }, (member) => member === 'value' && isSecretSetting(name))).toEqual({
    value: '(changed)',
  });
});

it('a new value of another setting is', () => {
  expect(isSecretSetting('name')).toBe(false);
});
