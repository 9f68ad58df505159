/** The text that the server prints when it has started. */
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { isLoopback } from './core/addresses.ts'
import { writeJson } from './core/json.ts'
import type { App } from './app.ts'
import type { Config } from './config.ts'
import { commandFile } from './paths.ts'

/**
 * URLs, the operator's key (at the first start only), a note about the model, and two commands to paste. With the file in
 * which the key is `kept`, the text has no credential.
 */
export function banner(app: App, config: Config, kept: string | null = null): string {
  const lines = [
    '',
    '  Gatehouse is running.',
    '',
    ...(config.role === 'worker' ? [] : dashboardLines(app, kept)),
    `  GraphQL    ${app.url}/graphql   (POST, SSE and WebSocket)`,
    ...(config.graphiql ? [`  GraphiQL   ${app.url}/graphql   (in a browser)`] : []),
    `  Health     ${app.url}/readyz`,
    ...(config.isPlatformPort && isLoopback(config.host)
      ? [
          '  Note       it listens for this machine only: a platform that sets PORT needs GATEHOUSE_HOST=0.0.0.0',
        ]
      : []),
    `  Database   ${config.databaseUrl ? 'PostgreSQL' : `embedded, in ${config.dataDir} (not safe against power loss; use DATABASE_URL in production)`}`,
    '',
    ...(app.adminKey ? keyLines(app.adminKey, kept) : []),
    ...(app.models.rehearses
      ? [
          '  No model key is configured, so agents use the built-in rehearsal model. It is not an AI: it follows rules and',
          '  "call tool {...}" lines. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY or OPENAI_BASE_URL.',
          '',
        ]
      : []),
    ...(app.demo ? commands(app, app.demo.agentId, kept) : []),
  ]
  return `${lines.join('\n')}\n`
}

function dashboardLines({ url, signInUrl }: App, kept: string | null): string[] {
  if (signInUrl && !kept)
    return [
      `  Dashboard  ${signInUrl}`,
      '             (signs you in, once; a refund waits there for your decision)',
    ]
  const file = kept && existsSync(kept) ? ` --key-file '${kept}'` : ''
  const key = file ? '' : ', with your API key in GATEHOUSE_KEY'
  return [
    `  Dashboard  ${url}`,
    `             (sign in with an API key, or by a link that this prints${key}:)`,
    `             ${commandLine()} open${file}${url === defaultUrl ? '' : ` --url ${url}`}`,
  ]
}

/** The server that the command line takes when none is named. */
const defaultUrl = 'http://127.0.0.1:4000'

/** How whoever started this server can run the command line: by its name where that started it. */
function commandLine(): string {
  const started = basename(process.argv[1] ?? '')
  return started === 'gatehouse' ? started : `${process.execPath} ${commandFile()}`
}

function keyLines(key: string, kept: string | null): string[] {
  if (!kept) return ['  API key, shown only this once:', `  ${key}`, '']
  const read = `  export GATEHOUSE_KEY="$(cat '${kept}')"`
  return ['  API key, in a file that only its owner can read; move it to a safe place:', read, '']
}

function commands(app: App, agentId: string, kept: string | null): string[] {
  const key = kept ? '$GATEHOUSE_KEY' : (app.adminKey ?? '$GATEHOUSE_KEY')
  const post = (body: object) =>
    `  curl -s ${app.url}/graphql -H 'content-type: application/json' -H "authorization: Bearer ${key}" -d '${writeJson(body)}'`
  const start =
    'mutation($input: StartGenerationInput!) { startGeneration(input: $input) { __typename ' +
    '... on GenerationPayload { generation { id status } } ... on Error { message } } }'
  const watch =
    '{ generations(first: 1) { nodes { id status requiredAction { toolCalls { id name arguments } } output { text } } } }'
  const prompt = 'call get_weather {"city":"São Paulo"}\nthen\ncall read_local_file {"path":"/tmp/data.csv"}'
  return [
    '  Start a generation that calls an http tool and then pauses for a client tool:',
    '',
    post({ query: start, variables: { input: { agentId, prompt } } }),
    '',
    '  Show its status, and the output it waits for:',
    '',
    post({ query: watch }),
    '',
  ]
}
