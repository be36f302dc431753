import { z } from 'zod';
import { describeEndpoints } from './endpoint.decorator.js';

const headers = { ETag: 'Changes with the content; send it as `If-None-Match`.' };
const unchanged = { description: 'It is still what `If-None-Match` names.' };

export const openapiEndpoints = describeEndpoints('Service', {
  getDocument: {
    summary: 'Get this description for programs',
    credentials: 'none',
    answers: {
      200: { description: 'An OpenAPI 3.1 document.', body: z.looseObject({ openapi: z.string() }), headers },
      304: unchanged,
    },
    errors: [],
  },
  getPage: {
    summary: 'Read this description',
    credentials: 'none',
    answers: { 200: { description: 'A page.', mediaType: 'text/html', headers }, 304: unchanged },
    errors: [],
  },
});
