/** The configuration of an http tool as it is given, and what is kept of it. */
import { z } from 'zod'
import { text } from '../../../core/check.ts'
import type { JsonObject } from '../../../core/json.ts'
import { optional, part, scalar } from '../../../core/shapes.ts'
import { httpMethod, type HttpToolConfig } from './http-template.ts'

export const httpInput = <Schema extends z.ZodType<JsonObject>>(inputSchema: Schema) =>
  part('HttpToolConfigInput', 'The config of an http tool.', {
    url: text(4000, 1).describe(
      'The absolute URL; {name} in path or query is replaced by the argument of that name.',
    ),
    method: optional(httpMethod.describe('The HTTP method of the request.'), 'POST'),
    headers: scalar(
      'JSONObject',
      z.custom<JsonObject>().pipe(z.record(z.string().max(200), z.string().max(8000))),
    )
      .nullish()
      .describe(
        'Static headers by name. {{secret:NAME}} in a value is replaced by the secret when a request is sent.',
      ),
    inputSchema,
  })

export function httpOf({ url, method, headers }: z.output<ReturnType<typeof httpInput>>): HttpToolConfig {
  return { url, method: method ?? 'POST', headers: headers ?? {} }
}
