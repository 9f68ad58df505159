/** The tools of the demo project. */
import type { InputOf } from '../domain/access/index.ts'
import type { createTool } from '../domain/tools/index.ts'

type CreateToolInput = InputOf<typeof createTool>

/** In the order in which clients list them. Their URLs are those of the demo upstream. */
export function demoTools(upstreamUrl: string): CreateToolInput[] {
  return [weather(upstreamUrl), search(upstreamUrl), csv(upstreamUrl), refund(upstreamUrl), localFile]
}

const weather = (upstreamUrl: string): CreateToolInput => ({
  name: 'get_weather',
  title: 'Weather',
  description: 'Fetches the current weather of a city.',
  // A preset: the model does not see "unit", and this value is always used.
  presetParameters: { unit: 'celsius' },
  config: {
    http: {
      url: `${upstreamUrl}/v1/weather/{city}`,
      method: 'GET',
      inputSchema: {
        type: 'object',
        properties: {
          city: { type: 'string', description: 'The name of the city.', minLength: 1 },
          unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
        },
        required: ['city', 'unit'],
        additionalProperties: false,
      },
    },
  },
})

const search = (upstreamUrl: string): CreateToolInput => ({
  name: 'web_search',
  title: 'Web search',
  description: 'Search the web for current information on any topic.',
  annotations: { readOnlyHint: true },
  config: {
    http: {
      url: `${upstreamUrl}/v1/search`,
      method: 'GET',
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'The search query' },
          max_results: {
            type: 'integer',
            description: 'Maximum number of results to return',
            default: 5,
            minimum: 1,
            maximum: 20,
          },
        },
        required: ['query'],
      },
    },
  },
})

const csv = (upstreamUrl: string): CreateToolInput => ({
  name: 'save_csv',
  title: 'Save CSV',
  description: 'Save parsed invoice data as a CSV file to the shared drive',
  config: {
    http: {
      url: `${upstreamUrl}/v1/csv`,
      method: 'POST',
      inputSchema: {
        type: 'object',
        properties: {
          filename: { type: 'string', description: 'Output filename without extension' },
          rows: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                date: { type: 'string' },
                amount: { type: 'number' },
                vendor: { type: 'string' },
              },
            },
          },
        },
        required: ['filename', 'rows'],
      },
    },
  },
})

const refund = (upstreamUrl: string): CreateToolInput => ({
  name: 'send_refund',
  title: 'Refund',
  description: 'Pays money back for an order. A person must agree to more than 100.',
  gate: {
    mode: 'WHEN',
    // Whoever starts the demo has time to read before the first question expires.
    timeoutSeconds: 3600,
    when: { type: 'object', properties: { amount: { exclusiveMinimum: 100 } }, required: ['amount'] },
  },
  config: {
    http: {
      url: `${upstreamUrl}/v1/refunds`,
      method: 'POST',
      inputSchema: {
        type: 'object',
        properties: {
          order_id: { type: 'string', description: 'The order, such as A-17.', minLength: 1 },
          amount: { type: 'number', description: 'In euros.', exclusiveMinimum: 0 },
        },
        required: ['order_id', 'amount'],
        additionalProperties: false,
      },
    },
  },
})

const localFile: CreateToolInput = {
  name: 'read_local_file',
  title: 'Local file',
  description: 'Reads a file on the machine of the calling application.',
  config: {
    client: {
      inputSchema: {
        type: 'object',
        properties: { path: { type: 'string', description: 'An absolute path.' } },
        required: ['path'],
        additionalProperties: false,
      },
    },
  },
}
