import { describe, expect, it } from 'vitest';
import { TemplateProblem, variablesIn } from './compiled-template.js';

const problemOf = (source: string, part: 'subject' | 'html' | 'text' = 'html') => {
  try {
    variablesIn(part, source);
  } catch (error) {
    if (error instanceof TemplateProblem) return error.message;
    throw error;
  }
  throw new Error(`${source.slice(0, 80)} is taken for a template`);
};

describe('a template', () => {
  it.each([
    ['Hi', []],
    ['{{username}} {{ email }} {{username}}', ['username', 'email']],
    ['{{#if email}}{{email}}{{else}}{{link}}{{/if}}', ['email', 'link']],
    ['{{#if email}}a{{else if username}}b{{/if}}', ['email', 'username']],
    ['{{#unless email}}{{~appname~}}{{/unless}}', ['email', 'appname']],
    ['{{#with username}}{{this}}{{.}}{{../link}}{{else}}{{link}}{{/with}}', ['username', 'link']],
    ['{{#each username}}{{this}}{{/each}}{{! a note }}{{!-- {{unknown}} --}}\\{{as text}}', ['username']],
    ['{{this.link}}{{./link}}{{[link]}}', ['link']],
  ])('%s uses %j', (source, used) => {
    expect([...variablesIn('html', source)]).toEqual(used);
  });

  it.each([
    ['a\nb {{unknown}}', /^html, line 2: there is no variable "unknown", only appname, email, username, link$/],
    ['{{#if email}}{{else}}\n{{usernam}}{{/if}}', /line 2: there is no variable "usernam"/],
    ['{{constructor}}', /there is no variable "constructor"/],
    ['{{__proto__}}', /there is no variable "__proto__"/],
    ['{{username.constructor}}', /there is no variable "username.constructor"/],
    ['{{username.length}}', /there is no variable/],
    ['{{[constructor]}}', /there is no variable/],
    ['{{this}}', /there is no variable "this"/],
    ['{{../link}}', /"\.\.\/link" is not in this block: write link/],
    ['{{#with email}}{{link}}{{/with}}', /"link" is not in this block: write \.\.\/link/],
    ['{{#with email}}{{../../link}}{{/with}}', /write \.\.\/link/],
    ['{{#with email}}{{this.constructor}}{{/with}}', /there is no variable/],
    ['{{#with email}}{{#with ../link}}{{/with}}{{/with}}', /cannot be nested/],
    ['{{@root.link}}', /there is no variable "@root.link"/],
    ['{{@root}}', /there is no variable/],
    ['{{lookup this "constructor"}}', /only if, unless, with, each can be used as helpers/],
    ['{{log username}}', /can be used as helpers/],
    ['{{helperMissing}}', /there is no variable "helperMissing"/],
    ['{{#helperMissing link}}{{/helperMissing}}', /there is no helper "helperMissing"/],
    ['{{#username}}{{/username}}', /there is no helper "username"/],
    ['{{^username}}{{/username}}', /there is no helper "username"/],
    ['{{#if (lookup this "x")}}{{/if}}', /only variables are allowed here/],
    ['{{#if "x"}}{{/if}}', /only variables are allowed here/],
    ['{{"x"}}', /only variables are allowed here/],
    ['{{#if}}{{/if}}', /if takes one variable/],
    ['{{#if email link}}{{/if}}', /if takes one variable/],
    ['{{#if email includeZero=true}}{{/if}}', /if takes one variable/],
    ['{{#each email as |x|}}{{/each}}', /each takes one variable/],
    ['{{> header}}', /partials and decorators cannot be used/],
    ['{{#> header}}{{/header}}', /partials and decorators cannot be used/],
    ['{{* decorator}}', /partials and decorators cannot be used/],
    ['{{#*inline "x"}}{{/inline}}', /partials and decorators cannot be used/],
    ['a\n\n{{#if email}}', /^html, line 3: it is not a valid Handlebars template: /],
    ['a\n{{link', /^html, line 2: it is not a valid Handlebars template: /],
    ['{{#if email}}\n{{/unless}}', /^html, line 1: it is not a valid Handlebars template: if doesn't match unless$/],
    ['{{}}', /it is not a valid Handlebars template/],
  ])('%s is refused', (source, reason) => {
    expect(problemOf(source)).toMatch(reason);
  });

  it.each(['{{{username}}}', '{{&username}}', '{{~{username}~}}'])(
    '%s skips HTML escaping in html, and is allowed in text',
    (source) => {
      expect(problemOf(source)).toMatch(/skip HTML escaping: use two braces/);
      expect([...variablesIn('text', source)]).toEqual(['username']);
    },
  );

  it.each([
    ['subject', 2_000],
    ['html', 262_144],
    ['text', 262_144],
  ] as const)('%s is bounded', (part, bytes) => {
    expect(variablesIn(part, 'x'.repeat(bytes)).size).toBe(0);
    expect(problemOf('字'.repeat(bytes / 2), part)).toBe(`${part}: it is longer than ${bytes} bytes`);
  });

  it('500 variables are accepted', () => {
    expect(variablesIn('html', '{{username}}'.repeat(500))).toEqual(new Set(['username']));
  });

  it.each([
    ['many variables', '{{username}}'.repeat(501)],
    ['blocks in blocks', `${'{{#if email}}'.repeat(9_000)}${'{{/if}}'.repeat(9_000)}`],
    ['opening braces', '{{'.repeat(100_000)],
  ])('%s are refused in time', (_, source) => {
    expect(problemOf(source)).toMatch(/more than 500 tags \(\{\{\)/);
  });
});
