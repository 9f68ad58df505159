/** `gatehouse keys`: lists, creates and revokes API keys. */
import type { Client } from '../client/index.ts'
import { createLocal, localHelp, localOptions } from './local-keys.ts'
import { showNewKey } from './new-key.ts'
import { note, oneLine, out, outJson, table } from './screen.ts'
import { clientOf, commonHelp, textOption, UsageError, type Command, type ParsedArguments } from './usage.ts'

export const keys: Command = {
  summary: 'list, create and revoke API keys',
  help: `gatehouse keys list
gatehouse keys create NAME [--role ROLE] [--expires TIME] [--agent ID] [--no-votes]
gatehouse keys create NAME --role ROLE --local [--project ID] [--operator] [--expires TIME] [--no-votes]
gatehouse keys revoke ID [--yes]

create prints the new key, once, to the standard output and everything else to the standard error.

  --role ROLE     ADMIN, DEVELOPER, APPROVER, CALLER or VIEWER; default: CALLER
  --expires TIME  when the key ends, such as 2027-01-31T00:00:00Z; default: never
  --agent ID      bind the key to the MCP endpoint of one agent
  --no-votes      a key of a program, which never decides approvals
  --yes           revoke it also when it is your own key, or the last one of an admin

${localHelp}
${commonHelp}`,
  options: {
    role: { type: 'string' },
    expires: { type: 'string' },
    agent: { type: 'string' },
    'no-votes': { type: 'boolean' },
    yes: { type: 'boolean' },
    ...localOptions,
  },
  async run(given, signal) {
    const [what, ...words] = given.words
    if (given.options['local']) return createLocal(given)
    if (given.options['operator'] || given.options['project'] !== undefined)
      throw new UsageError('--project and --operator go with --local.')
    const client = clientOf(given)
    if (what === 'list' && words.length === 0) return list(client, given, signal)
    if (what === 'create' && words.length === 1) return create(client, given, words[0]!, signal)
    if (what === 'revoke' && words.length === 1) return revoke(client, given, words[0]!, signal)
    throw new UsageError('Say list, create NAME or revoke ID.')
  },
}

interface Key {
  id: string
  name: string
  prefix: string
  role: string | null
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
}
interface Page {
  apiKeys: { nodes: Key[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }
}

const keysPage = `query Keys($after: String) { apiKeys(first: 100, after: $after) {
  nodes { id name prefix role createdAt expiresAt revokedAt } pageInfo { hasNextPage endCursor } } }`

const stateOf = ({ revokedAt, expiresAt }: Key) =>
  revokedAt ? 'revoked' : expiresAt ? `ends ${expiresAt}` : 'valid'

async function list(client: Client, given: ParsedArguments, signal: AbortSignal): Promise<number> {
  let after: string | null = null
  const found: Key[] = []
  for (;;) {
    const { apiKeys }: Page = await client.query<Page>(keysPage, { after }, { signal })
    found.push(...apiKeys.nodes)
    if (!apiKeys.pageInfo.hasNextPage) break
    after = apiKeys.pageInfo.endCursor
  }
  if (given.options['json']) found.forEach(outJson)
  else out(table(found.map((key) => [key.id, key.prefix, key.role ?? 'policy', stateOf(key), key.name])))
  return 0
}

const refusal = '... on Error { __typename code message }'

async function create(
  client: Client,
  given: ParsedArguments,
  name: string,
  signal: AbortSignal,
): Promise<number> {
  const agentId = textOption(given, 'agent')
  const role = textOption(given, 'role')?.toUpperCase()
  const input = {
    name,
    role: role ?? 'CALLER',
    expiresAt: textOption(given, 'expires') ?? null,
    agentId: agentId ?? null,
    ...(given.options['no-votes'] ? { votes: false } : {}),
  }
  const { createApiKey } = await client.mutate<{
    createApiKey: { secret: string; apiKey: Pick<Key, 'id' | 'name'> }
  }>(
    `mutation CreateKey($input: CreateApiKeyInput!) { createApiKey(input: $input) {
      ... on ApiKeyPayload { secret apiKey { id name role expiresAt } } ${refusal} } }`,
    { input },
    { signal },
  )
  showNewKey(given, { ...createApiKey.apiKey, secret: createApiKey.secret })
  return 0
}

async function revoke(
  client: Client,
  given: ParsedArguments,
  id: string,
  signal: AbortSignal,
): Promise<number> {
  const why = given.options['yes'] ? [] : await whyNot(client, id, signal)
  if (why.length > 0) {
    note(`${why.join('\n')}\nNothing was revoked. Say --yes to revoke it all the same.`)
    return 1
  }
  const { revokeApiKey } = await client.mutate<{
    revokeApiKey: { apiKey: Pick<Key, 'id' | 'name' | 'revokedAt'> }
  }>(
    `mutation RevokeKey($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) {
      ... on ApiKeyPayload { apiKey { id name revokedAt } } ${refusal} } }`,
    { input: { id } },
    { signal, isIdempotent: true },
  )
  if (given.options['json']) outJson(revokeApiKey.apiKey)
  else note(`${revokeApiKey.apiKey.id}  ${oneLine(revokeApiKey.apiKey.name)} is revoked.`)
  return 0
}

interface Revocation {
  includesCaller: boolean
  leavesNoAdmin: boolean
}

/** What only somebody who means it would end, as lines for people. */
async function whyNot(client: Client, id: string, signal: AbortSignal): Promise<string[]> {
  const { node } = await client.query<{ node: { revocation?: Revocation } | null }>(
    `query KeyRevocation($id: ID!) { node(id: $id) {
      ... on ApiKey { revocation { includesCaller leavesNoAdmin } } } }`,
    { id },
    { signal },
  )
  if (!node?.revocation)
    return ['There is no such key that you can read, so what would end with it is not known.']
  return [
    ...(node.revocation.includesCaller
      ? ['It is the key of this command, or that one was made with it.']
      : []),
    ...(node.revocation.leavesNoAdmin ? ['No other key of an admin remains in its project.'] : []),
  ]
}
