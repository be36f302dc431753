import { gzipSync } from 'node:zlib';
import { HOSTILE_VALUES } from './values.js';

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
const MEGABYTE = 1_048_576;

/** Whole bodies. Clients of Gatepost would send few of them. */
export const HOSTILE_BODIES: readonly (string | Buffer)[] = [
  ...HOSTILE_VALUES,
  '',
  ' ',
  '{',
  '{"a":',
  '{"a":1}}',
  '{"a":1,}',
  "{'a':1}",
  '{a:1}',
  '/**/{}',
  '{"a":NaN}',
  '{"a":undefined}',
  '{"username":"a","username":"b","password":"x","password":{"$ne":null}}',
  '{"sessionToken":"x","session\\u0054oken":"y"}',
  '\ufeff{"a":1}',
  '{"a":"\u0001"}',
  '{"a":"\\x"}',
  'username=a&password=b&_method=DELETE',
  '--x\r\nContent-Disposition: form-data; name="a"; filename="../../b"\r\n\r\n1\r\n--x--',
  '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
  Buffer.from([0xff, 0xfe, 0xfd]),
  Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.alloc(1_000),
  utf16('{"a":1}'),
  gzipSync('{"a":1}'),
  '['.repeat(MEGABYTE - 10),
  `{"a":"${'x'.repeat(MEGABYTE)}"}`,
  '{"a":'.repeat(100_000),
  // Requests in a request.
  '{"requests":[{"method":"POST","path":"/1.1/batch","body":{"requests":[]}}]}',
  '{"requests":[{"method":"GET","path":"/1.1/../metrics"},{"method":"GET","path":"/metrics"},{"method":"GET","path":"/1.1/users/me"}]}',
  '{"requests":[{"method":"GET","path":"//evil.example/1.1/"},{"method":"TRACE","path":"/1.1/date"},{"method":"__proto__","path":"/1.1/date"}]}',
  '{"requests":[{"method":"PUT","path":"/1.1/users/$USER_STRANGER","body":{"color":"mine"}},{"method":"DELETE","path":"/1.1/users/$USER_STRANGER"}]}',
  '{"requests":[{"method":"GET","path":"/1.1/users/$USER_STRANGER","params":{"include":"a","keys":"sessionToken,password"}}]}',
  '{"requests":[{"method":"GET","path":"/1.1/users","params":{"where":{"sessionToken":{"$exists":true}},"limit":{"a":1}}}]}',
  `{"requests":[${Array.from({ length: 101 }, () => '{"method":"GET","path":"/1.1/date"}').join(',')}]}`,
  `{"requests":[${Array.from({ length: 100 }, () => '{"method":"GET","path":"/1.1/users/me"}').join(',')}]}`,
  '{"requests":{"length":3}}',
  '{"requests":[null,1,"x",[],{"method":"GET"},{"path":"/1.1/date"},{"method":"GET","path":{"a":1}}]}',
  '{"requests":[{"method":"POST","path":"/1.1/users","body":{"__internalId":"__proto__","__children":[{"className":"__proto__","cid":"__proto__","key":"__proto__"}]}}]}',
  '{"requests":[{"method":"POST","path":"/1.1/users","body":{"__internalId":"a","__children":[{"className":"_User","cid":"a","key":"a"}]}}]}',
  // The form of browsers, which says in the body what it wants.
  '{"_method":"DELETE","_ApplicationId":"$APP_ID","_ApplicationKey":"$APP_KEY"}',
  '{"_method":"GET","_ApplicationId":"$APP_ID","_ApplicationKey":"$APP_KEY","where":{"sessionToken":{"$exists":true}}}',
  '{"_method":"GET","_MasterKey":"undefined","_SessionToken":{"$ne":null},"_ApplicationId":"__proto__"}',
  '{"_method":"PATCH"}',
  '{"_method":["GET"]}',
  '{"_method":"POST","_method":"DELETE"}',
];
