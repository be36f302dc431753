import { Controller, Get, Post } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ERRORS } from '#errors';
import { GatewayModule } from '../gateway.module.js';
import { openApiDocument } from './document.js';
import { Endpoint, type EndpointDescription, named } from './endpoint.decorator.js';
import { endpointsOf } from './routed-endpoints.js';

const thing = named('Thing', z.object({ name: z.string(), size: z.int().optional() }));
const description: EndpointDescription = {
  topic: 'Users',
  summary: 'Do it',
  credentials: 'application',
  body: thing,
  answers: { 201: { description: 'Done.', body: z.object({ results: z.array(thing) }) } },
  errors: ['USER_NOT_FOUND', 'FORBIDDEN', 'INVALID_KEY_NAME'],
};

@Controller(['1.1/things', '1.1/classes/Thing'])
class ThingsController {
  @Post(':objectId')
  @Endpoint(description)
  change(): void {
    return;
  }

  @Get()
  notDescribed(): void {
    return;
  }
}

const base = 'https://api.example.com';
const { paths, components } = openApiDocument(endpointsOf([ThingsController]), base);
const operation = paths['/1.1/things/{objectId}']?.['post'];

describe('the document of endpoints', () => {
  it('has a route under its first path, and under each alias with a reference to it', () => {
    expect(Object.keys(paths)).toEqual(['/1.1/things/{objectId}', '/1.1/classes/Thing/{objectId}']);
    expect(operation).toMatchObject({ operationId: 'thingsChange', tags: ['Users'] });
    expect(paths['/1.1/classes/Thing/{objectId}']?.['post']).toEqual({
      ...operation,
      operationId: 'thingsChangeAlias1',
      'x-alias-of': '/1.1/things/{objectId}',
    });
  });

  it('contains a named shape once, and refers to it from bodies, lists and responses', () => {
    const reference = { $ref: '#/components/schemas/Thing' };
    expect(components.schemas['Thing']).toEqual({
      type: 'object',
      properties: { name: { type: 'string' }, size: { type: 'integer' } },
      required: ['name'],
    });
    expect(operation?.requestBody?.content['application/json']?.schema).toEqual(reference);
    expect(JSON.stringify(operation?.responses['201'])).toContain(JSON.stringify({ type: 'array', items: reference }));
  });

  it('lists codes by status: its own, and those that every such endpoint can answer', () => {
    const codes = (status: string) => {
      const response = operation?.responses[status];
      if (response === undefined || '$ref' in response) return response;
      return (response.content?.['application/json']?.schema as { properties: { code: { enum: number[] } } }).properties
        .code.enum;
    };
    expect(Object.keys(operation?.responses ?? {})).toEqual([
      '201',
      '400',
      '401',
      '403',
      '413',
      '429',
      '431',
      '500',
      '503',
    ]);
    expect([codes('400'), codes('403')]).toEqual([[105, 107, 111, 211], [403]]);
    expect(codes('401')).toEqual({ $ref: '#/components/responses/Unauthorized' });
  });

  it('refuses two descriptions of one route, and a parameter of the path without a description', () => {
    const [endpoint] = endpointsOf([ThingsController]);
    expect(() => openApiDocument([endpoint!, endpoint!], base)).toThrow(/described twice/);
    expect(() => openApiDocument([{ ...endpoint!, paths: ['/1.1/{unknown}'] }], base)).toThrow(/unknown/);
  });
});

describe('the endpoints of the gateway', () => {
  it('name only existing errors', () => {
    for (const { errors } of GatewayModule.endpoints) for (const name of errors) expect(ERRORS).toHaveProperty(name);
  });

  it('have paths in the form of OpenAPI', () => {
    for (const path of Object.keys(openApiDocument(GatewayModule.endpoints, base).paths))
      expect(path).toMatch(/^(?:\/(?:[\w.-]+|\{\w+\}))+$/);
  });

  it('are described in plain text, in which only `code` is marked', () => {
    expect(JSON.stringify(openApiDocument(GatewayModule.endpoints, base))).not.toMatch(/\]\(|\*\*/);
  });

  it('describe every parameter of the URL', () => {
    for (const { id, query } of GatewayModule.endpoints)
      for (const [name, field] of Object.entries<z.ZodType>(query?.shape ?? {}))
        expect(field.description, `${id}: ${name}`).toMatch(/\w/);
  });
});
