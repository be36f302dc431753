import { describe, expect, it } from 'vitest';
import { contactMasks, formerValuesOf, isContact, maskedEvent, maskedText, searchedIn } from './user.rules.js';

describe('an operator without users.contact', () => {
  it('searches usernames and ids only', () => {
    expect([searchedIn('any', false), searchedIn('username', false), searchedIn('id', false)]).toEqual([
      'username',
      'username',
      'id',
    ]);
    expect(() => searchedIn('email', false)).toThrow('users.contact');
    expect(() => searchedIn('phone', false)).toThrow('users.contact');
    expect(searchedIn('email', true)).toBe('email');
  });

  it.each([
    ['+86138', true],
    ['138 00', true],
    ['ada@', true],
    ['ada2024', false],
    ['', false],
    [undefined, false],
  ])('may search for "%s": not %s', (text, isForbidden) => {
    expect(isContact(text)).toBe(isForbidden);
  });

  it('sees addresses, numbers and networks masked', () => {
    const { email, name, network, phone } = contactMasks(false);
    expect([network('203.0.113.7'), network('2001:db8:1:2::/64')]).toEqual(['203.0.…', '2001:db8:…']);
    expect([email('ada@example.com'), email(null)]).toEqual(['a…@example.com', null]);
    expect([phone('+8613800001234'), phone(null)]).toEqual(['…1234', null]);
    const names = ['+8613800001234', '13800001234', 'ada@example.com', 'a\nb@', 'ada2024', '123456', '@ada', null];
    const masked = ['…1234', '…1234', 'a…@example.com', 'a…@', 'ada2024', '123456', '@ada', null];
    expect(names.map(name)).toEqual(masked);
  });

  it.each([
    ['550 5.1.1 <ada.b@example.com>: unknown', '550 5.1.1 <a…@example.com>: unknown'],
    ['"名@例子.中国" and x@[10.0.0.1]', '"名…@例子.中国" and x…@[10.0.0.1]'],
    ['no route to +8613800001234', 'no route to …1234'],
    ['8613800001234,13900005678', '…1234,…5678'],
    ['421 4.7.0 try again in 300 s', '421 4.7.0 try again in 300 s'],
  ])('sees %s as %s', (text, masked) => {
    expect(maskedText(text)).toBe(masked);
  });
});

describe('a dead letter', () => {
  it('is shown without personal data and secrets', () => {
    const event = { appId: 'a', userId: 'u', email: 'ada@example.com', username: 'Ada', sealedToken: 's1.x' };
    expect(JSON.parse(maskedEvent(JSON.stringify({ ...event, changedAt: 't', variables: { a: 1 } })))).toEqual({
      appId: 'a',
      userId: 'u',
      email: 'a…@example.com',
      username: '(hidden)',
      sealedToken: '(hidden)',
      changedAt: 't',
      variables: '(hidden)',
    });
    expect(maskedEvent('{"mobilePhoneNumber":"+8613800001234","email":null}')).toBe(
      '{"mobilePhoneNumber":"…1234","email":null}',
    );
  });

  it.each(['ada@example.com', '["ada@example.com"]', '"ada"', 'null', ''])('with the body %j shows nothing', (body) => {
    expect(maskedEvent(body)).toBe('(hidden)');
  });
});

describe('the former values of a user', () => {
  const user = {
    email: 'a@b.c',
    emailVerified: true,
    mobilePhoneNumber: '+861',
    mobilePhoneVerified: false,
    bio: null,
  };

  it('are changes that write them, and remove what was not there', () => {
    const changes = { bio: null, level: { __op: 'Delete' }, constructor: { __op: 'Delete' } };
    expect(formerValuesOf(user, ['bio', 'level', 'constructor'])).toEqual(changes);
  });

  it('are those of whole fields where paths were changed', () => {
    const place = { city: 'Paris', zip: '1' };
    expect(formerValuesOf({ place }, ['place.city', 'place.zip'])).toEqual({ place });
  });

  it('bring an address back as verified, but a number not', () => {
    const changes = { email: 'a@b.c', emailVerified: true, mobilePhoneNumber: '+861' };
    expect(formerValuesOf(user, ['email', 'mobilePhoneNumber'])).toEqual(changes);
  });
});
