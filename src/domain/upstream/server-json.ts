/** The server.json of an MCP registry: how the server that it describes is reached, or started. Pure. */
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { invalid, invalidAt, type AppError, type Issue } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { secretNames } from '../secrets/index.ts'
import { cleanLine } from './catalog/clean.ts'

const range = /^[\^~<>=]|[\s|*,[\]()]|(^|\.)[xX](\.|$)|^latest$/
export const exactVersion = text(255, 1).refine(
  (version) => !range.test(version),
  'must be one exact version, such as 1.0.2: a range or "latest" cannot be pinned',
)
export const serverName = text(200, 3).regex(
  /^[A-Za-z0-9.-]+\/[A-Za-z0-9._-]+$/,
  'must be a reverse-DNS name with one slash, such as io.github.user/weather',
)

const inputFields = {
  description: z.string().nullish(),
  placeholder: z.string().nullish(),
  format: z.enum(['string', 'number', 'boolean', 'filepath']).nullish(),
  isRequired: z.boolean().nullish(),
  isSecret: z.boolean().nullish(),
  value: text(4096).nullish(),
  default: text(4096).nullish(),
  choices: z.array(text(4096)).max(200, 'must have at most 200 choices').nullish(),
}
const input = z.strictObject(inputFields)
const variables = z
  .record(z.string(), input)
  .refine((all) => Object.keys(all).length <= 50, 'must have at most 50 variables')
  .nullish()
const named = z.strictObject({
  ...inputFields,
  // Not __proto__, which is no name of a header that anybody sends.
  name: text(200, 1).regex(/^[A-Za-z0-9][!#$%&'*+.^_`|~0-9A-Za-z-]*$/, 'is not a usable name'),
  variables,
})
const argument = z.object({
  ...inputFields,
  type: z.enum(['positional', 'named']),
  name: text(200, 1).nullish(),
  valueHint: text(200, 1).nullish(),
})
const listOf = <Shape extends z.ZodType>(shape: Shape, max: number) =>
  z.array(shape).max(max, `must have at most ${max} entries`).nullish()

/** What decides about a connection is known completely; what only describes the server may hold more. */
const shape = z.object({
  name: serverName,
  title: text(200, 1).nullish(),
  description: text(2000, 1),
  version: exactVersion,
  remotes: listOf(
    z.strictObject({
      type: z.enum(['streamable-http', 'sse']),
      url: text(2048, 1).regex(/^(https?:\/\/|\{[A-Za-z_]\w*\})\S*$/, 'must be an http or https URL'),
      headers: listOf(named, 50),
      variables,
    }),
    20,
  ),
  packages: listOf(
    z.object({
      registryType: text(50, 1),
      identifier: text(500, 1).regex(/^[A-Za-z0-9@][!-~]*$/, 'must not have white space'),
      version: exactVersion.nullish(),
      registryBaseUrl: text(500).nullish(),
      transport: z.object({ type: z.enum(['stdio', 'streamable-http', 'sse']) }),
      runtimeArguments: listOf(argument, 100),
      packageArguments: listOf(argument, 100),
      environmentVariables: listOf(z.object({ name: text(200, 1).regex(/^[A-Za-z_]\w*$/) }), 100),
    }),
    20,
  ),
})
type Server = z.output<typeof shape>
type Package = NonNullable<Server['packages']>[number]
type Input = z.output<typeof input>

const root = ['input', 'server']

/** Checks a server.json. Throws INVALID with every fault. */
export function checkServer(given: JsonObject): Server {
  const server = check(shape, given, root)
  const said = (words: string, max: number) => cleanLine(words, max)
  return {
    ...server,
    title: server.title ? said(server.title, 200) : null,
    description: said(server.description, 2000),
  }
}

/** Values for the variables and headers of a server, by their name. */
export type ServerValues = Readonly<Record<string, string>>

interface Remote {
  /** Where in the server.json it is. */
  path: string[]
  url: string
  headers: Record<string, string>
}

/**
 * The remote to use, filled with these values: Streamable HTTP before SSE. Throws INVALID for a value that is missing, not asked for
 * or not one of the choices, for a secret that is not given as one, and for a server without a remote.
 */
export function remoteOf(server: Server, values: ServerValues): Remote {
  const remotes = server.remotes ?? []
  const modern = remotes.findIndex(({ type }) => type === 'streamable-http')
  const at = Math.max(modern, 0)
  const remote = remotes[at]
  if (!remote) throw packageFault(server)
  const path = [...root, 'remotes', String(at)]
  const filling = fillingOf(values)
  const url = filling.fill(remote.url, remote.variables ?? {}, true)
  const headers = new Map<string, [string, string]>()
  for (const [i, header] of (remote.headers ?? []).entries()) {
    const key = header.name.toLowerCase()
    if (headers.has(key)) filling.fault([...path, 'headers', String(i), 'name'], 'is there twice')
    const value =
      typeof header.value === 'string'
        ? filling.fill(header.value, header.variables ?? {}, header.isRequired === true)
        : filling.valueOf(header.name, header)
    if (value !== null) headers.set(key, [header.name, value])
  }
  const own = Object.fromEntries(headers.values())
  if (url !== null) filling.faults.push(...urlFaults(url, [...path, 'url']))
  filling.end([url ?? '', ...Object.values(own)], path)
  return { path, url: url!, headers: own }
}

function fillingOf(values: ServerValues) {
  const faults: Issue[] = []
  const asked = new Set<string>()
  const fault = (path: string[], message: string) => void faults.push({ path, message })
  const given = (name: string) => (Object.hasOwn(values, name) ? values[name]! : null)
  const valueOf = (name: string, one: Input, isNeeded = one.isRequired === true): string | null => {
    if (typeof one.value === 'string') return one.value
    asked.add(name)
    const own = given(name)
    const wrong = own === null ? null : faultOf(own, one)
    if (wrong) fault(['input', 'values', name], wrong)
    const value = own ?? one.default ?? null
    if (value === null && isNeeded) fault(['input', 'values', name], `is required${words(one)}`)
    return value
  }
  return {
    faults,
    fault,
    valueOf,
    /** The template with its variables; null when one of them has no value. Other braces stay. */
    fill(template: string, known: Record<string, Input>, isNeeded: boolean): string | null {
      let isWhole = true
      const made = template.replaceAll(/\{([A-Za-z_]\w*)\}/g, (all, name: string) => {
        if (!Object.hasOwn(known, name)) return all
        const value = valueOf(name, known[name]!, isNeeded)
        isWhole &&= value !== null
        return value ?? ''
      })
      return isWhole ? made : null
    },
    /** Throws all that was found. A file of others never chooses which secret is sent. */
    end(made: readonly string[], path: string[]) {
      for (const name of Object.keys(values))
        if (!asked.has(name))
          fault(['input', 'values', name], `is not asked for; this server asks for: ${listed(asked)}`)
      const own = new Set(Object.values(values).flatMap(secretNames))
      for (const name of made.flatMap(secretNames))
        if (!own.has(name)) fault(path, `names the secret ${name}: only values may name secrets`)
      if (faults.length > 0) throw invalid(faults.slice(0, 20))
    },
  }
}

const listed = (names: ReadonlySet<string>) => [...names].slice(0, 20).join(', ') || 'nothing'
const words = ({ description }: Input) => (description ? `: ${cleanLine(description, 200)}` : '')

function faultOf(given: string, { isSecret, choices }: Input): string | null {
  const names = secretNames(given)
  if (isSecret && names.length === 0)
    return 'is a secret: store it with setSecret, and give {{secret:NAME}} here'
  if (choices && choices.length > 0 && names.length === 0 && !choices.includes(given))
    return `must be one of ${cleanLine(choices.join(', '), 200)}`
  return null
}

function urlFaults(url: string, path: string[]): Issue[] {
  if (!URL.canParse(url)) return [{ path, message: 'is no valid URL with these values' }]
  const { protocol, hostname } = new URL(url)
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  if (protocol === 'https:' || (protocol === 'http:' && isLocal)) return []
  return [{ path, message: 'must be https: anyone on the way could read and change what is sent' }]
}

const tagged = /[:@][^/]+$/

/** How a package is started, by the registry that it comes from, and the address of that registry. */
const launchers: Record<
  string,
  { home: RegExp; words(id: string, one: Package, runtime: string[]): string[] }
> = {
  npm: { home: /^registry\.npmjs\.org/, words: (id, _one, runtime) => ['npx', '-y', ...runtime, id] },
  pypi: { home: /^pypi\.org/, words: (id, _one, runtime) => ['uvx', ...runtime, id] },
  nuget: { home: /^api\.nuget\.org/, words: (id, _one, runtime) => ['dnx', ...runtime, id, '--yes', '--'] },
  oci: {
    home: /^docker\.io/,
    words: (_id, { identifier, version, environmentVariables }, runtime) => [
      'docker',
      'run',
      '-i',
      '--rm',
      ...(environmentVariables ?? []).flatMap(({ name }) => ['-e', name]),
      ...runtime,
      tagged.test(identifier) ? identifier : `${identifier}:${version}`,
    ],
  },
}

/** Whether the command of a package is known: another registry may have another package of that name. */
function isStartable({ registryType: type, registryBaseUrl: base, transport, version, identifier }: Package) {
  if (!Object.hasOwn(launchers, type) || transport.type !== 'stdio') return false
  const isHome = !base || launchers[type]!.home.test(base.replace(/^https:\/\//, ''))
  return isHome && (Boolean(version) || (type === 'oci' && tagged.test(identifier)))
}

/** A server that has no remote: what to do with its packages. */
function packageFault({ name, packages }: Server): AppError {
  const path = [...root, 'remotes']
  const found = (packages ?? []).find(isStartable)
  if (!found)
    return invalidAt(
      path,
      'is required: no package is of npm, PyPI, NuGet or a container registry, speaks stdio and has a version',
    )
  const connector = connectorFor(name)
  const command = [
    ...launchers[found.registryType]!.words(
      `${found.identifier}@${found.version}`,
      found,
      argumentsOf(found.runtimeArguments),
    ),
    ...argumentsOf(found.packageArguments),
  ].filter((word, i, all) => word !== '--' || i < all.length - 1)
  const names = (found.environmentVariables ?? []).map((one) => one.name).slice(0, 20)
  const settings = names.length > 0 ? ` Its environment may need ${names.join(', ')}.` : ''
  return invalidAt(
    path,
    `is required: this server runs on a machine of yours. Read its packages, run there ` +
      `"gatehouse connect ${connector} -- ${command.map(quoted).join(' ')}", ` +
      `and create a tool with the url connector:${connector}.${settings}`,
  )
}

const connectorFor = (name: string) =>
  name
    .slice(name.indexOf('/') + 1)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-|-$/g, '') || 'server'

/** Arguments with what is known of them; <name> stands for what the person who starts it has to say. */
function argumentsOf(given: Package['packageArguments']): string[] {
  return (given ?? []).flatMap(({ type, name, value, default: other, valueHint, isRequired }) => {
    const own = value ?? other ?? (isRequired || !name ? `<${valueHint ?? name ?? 'value'}>` : null)
    if (type === 'positional') return own === null ? [] : [own]
    return own === null ? [] : [name ?? '', own]
  })
}

/** A word of a command line, as a shell takes it. */
function quoted(word: string): string {
  const clean = cleanLine(word, 500)
  return /^[\w@%+=:,./-]+$/.test(clean) ? clean : `'${clean.replaceAll("'", String.raw`'\''`)}'`
}
