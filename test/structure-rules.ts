/** The rules of the module structure: pure functions from source files to the violations in them. house.test.ts applies them. */
import { dirname, join, normalize } from 'node:path'
import { fileRules } from './file-rules.ts'
import { statementRules } from './statement-rules.ts'

/** A file of src: its path below src, and its text. */
export interface Source {
  path: string
  text: string
}

export interface Rule {
  name: string
  /** Each violation as one line that names the file, and what it must not import or contain. */
  violations(sources: readonly Source[]): string[]
  /** Files that break the rule, and the violations that it must find in them. */
  planted: { sources: readonly Source[]; found: readonly string[] }
}

/** What a layer may import beside itself. The API layer never imports the store. */
const importsOfLayer: Record<string, readonly string[]> = {
  core: [],
  store: ['core'],
  domain: ['core', 'store'],
  api: ['core', 'domain'],
  demo: ['core', 'domain'],
  app: ['core', 'store', 'domain', 'api', 'demo'],
  main: ['app'],
}
export const layers = Object.keys(importsOfLayer)

/** The modules of the domain, lowest first: a module imports only modules before it. See docs/decisions/0006. */
const modules = [
  'basis',
  'egress',
  'audit',
  // Below access, which writes events of keys and projects. It checks no permission itself.
  'events',
  'access',
  'sign-in',
  'projects',
  'secrets',
  'files',
  'upstream',
  'gates',
  'tools',
  'tool-calls',
  'approvals',
  'followers',
  'calls',
  'coding-agents',
  'agents',
  'models',
  'threads',
  'gate-changes',
  'pauses',
  'statistics',
  'generations',
  'triggers',
  'retention',
  'bridge',
]

/** The folders of the store, lowest first. */
const storeFolders = ['db', 'pubsub', 'work', 'events']

/** The folders of domain/generations, lowest first. The files beside them are excepted. */
const generationFolders = ['nesting', 'context', 'transaction', 'step', 'loop']

/** The folders of these APIs, lowest first. */
const apiFolders: Record<string, readonly string[]> = {
  graphql: ['builder', 'types', 'transport'],
  mcp: ['http', 'delivery', 'agent'],
}

/** The files of the API layer that the files beside the folders of src may import. */
const apiEntryPoints = [
  'api/protocols/a2a/handler.ts',
  'api/graphql/transport/actions.ts',
  'api/graphql/builder/context.ts',
  'api/graphql/transport/http-route.ts',
  'api/graphql/transport/socket-limits.ts',
  'api/graphql/transport/sockets.ts',
  'api/graphql/transport/yoga.ts',
  'api/http/bodies.ts',
  'api/http/browser-session.ts',
  'api/http/connectors.ts',
  'api/http/cors.ts',
  'api/http/files.ts',
  'api/http/link-pages.ts',
  'api/http/oauth.ts',
  'api/http/route.ts',
  'api/http/server.ts',
  'api/http/session.ts',
  'api/http/sign-in.ts',
  'api/http/signed-messages.ts',
  'api/http/web.ts',
  'api/http/authenticated-api.ts',
  'api/mcp/handler.ts',
  'api/mcp/http/mcp-runtime.ts',
  'api/protocols/ag-ui/copilotkit.ts',
  'api/protocols/ag-ui/handler.ts',
  'api/protocols/chat/handler.ts',
  'api/protocols/coding-agents/handler.ts',
  'api/protocols/completions/handler.ts',
  'api/protocols/rest/handler.ts',
  'api/protocols/responses/handler.ts',
]

/** Where a package may be imported. */
const packageHomes: readonly [name: RegExp, path: RegExp][] = [
  [/^(postgres|@electric-sql\/pglite|ioredis)$|^drizzle-orm\/(pglite|postgres-js)/, /^store\//],
  [
    /^(graphql|graphql-yoga|graphql-ws|graphql-scalars|dataloader|@pothos\/|@escape\.tech\/|@graphql-yoga\/)/,
    /^api\/graphql\//,
  ],
  [/^ws$/, /^api\/graphql\//],
  [/^@ai-sdk\//, /^domain\/models\/providers\//],
  [/^ipaddr\.js$/, /^domain\/egress\//],
  [/^nodemailer$/, /^domain\/egress\//],
  [/^undici$/, /^(domain\/egress|store\/blobs)\//],
  [/^aws4fetch$/, /^store\/blobs\//],
  [/^pino$/, /^logging\.ts$/],
  [/^prom-client$/, /^(meters|metrics|servers)\.ts$/],
  [/^@opentelemetry\//, /^core\/telemetry\//],
  [/^@modelcontextprotocol\/server/, /^api\/mcp\//],
  [/^@modelcontextprotocol\/client/, /^domain\/upstream\//],
  [/^jose$/, /^domain\/(sign-in|upstream\/oauth)\//],
  [/^croner$/, /^domain\/triggers\//],
]

/** Packages that are large and that most servers never use: they are imported when they are needed. */
const lazyPackages = /^(@graphql-yoga\/render-graphiql|@ai-sdk\/(openai|anthropic|google|openai-compatible))$/
const staticSpecifiers = (text: string) =>
  [
    ...text.matchAll(
      /^(?:import\s+(?!type\b)(?:[\w\s{},*]+from\s+)?|export\s+[\w\s{},*]+from\s+)['"]([^'"]+)['"]/gm,
    ),
  ].map((match) => match[1]!)

const specifiers = (text: string) =>
  [...text.matchAll(/(?:from\s+|import\s*\(\s*|import\s+)['"]([^'"]+)['"]/g)].map((match) => match[1]!)

/** Every relative import of a file as a path below src: static, dynamic and of types alike. */
export function importsOf({ path, text }: Source): string[] {
  return specifiers(text)
    .filter((name) => name.startsWith('.'))
    .map((name) => normalize(join(dirname(path), name)))
}

export const edgesOf = (sources: readonly Source[]) =>
  sources.flatMap((source) => importsOf(source).map((to) => ({ from: source.path, to })))

/** The layer of a file. The files beside the folders are the layer `app`, but for main.ts. */
export function layerOf(path: string): string {
  if (path.includes('/')) return path.split('/')[0]!
  return path === 'main.ts' ? 'main' : 'app'
}

/** The folder below `parent` that holds the file, or null. */
const folderIn = (parent: string, path: string) =>
  path.startsWith(`${parent}/`) && path.slice(parent.length + 1).includes('/')
    ? path.slice(parent.length + 1).split('/')[0]!
    : null
export const moduleOf = (path: string) => folderIn('domain', path)
const apiOf = (path: string) => folderIn('api', path)
const storeFolderOf = (path: string) => folderIn('store', path)
const generationFolderOf = (path: string) => folderIn('domain/generations', path)

/** The violations of a rule about single imports. */
const importRule = (isViolation: (from: string, to: string) => boolean) => (sources: readonly Source[]) =>
  edgesOf(sources)
    .filter(({ from, to }) => isViolation(from, to))
    .map(({ from, to }) => `${from} -> ${to}`)

/** One file that imports another, as a planted violation. */
const planted = (path: string, specifier: string, found: string) => ({
  sources: [{ path, text: `import type { X } from '${specifier}'` }],
  found: [found],
})

export function circles(sources: readonly Source[]): string[] {
  const next = new Map(sources.map((source) => [source.path, importsOf(source)]))
  const done = new Set<string>()
  const found: string[] = []
  const walk = (file: string, path: string[]): void => {
    const at = path.indexOf(file)
    if (at >= 0) return void found.push([...path.slice(at), file].join(' -> '))
    if (done.has(file)) return
    for (const to of next.get(file) ?? []) walk(to, [...path, file])
    done.add(file)
  }
  for (const { path } of sources) walk(path, [])
  return found
}

/** Whether a folder of generations must not import the other. */
function breaksGenerationOrder(from: string | null, to: string | null): boolean {
  if (from === null || to === null || from === to) return false
  const [upper, lower] = [generationFolders.indexOf(from), generationFolders.indexOf(to)]
  return upper < 0 || lower < 0 || lower > upper
}

export const rules: readonly Rule[] = [
  {
    name: 'a layer imports only the layers below it, and the API layer never the store',
    violations: importRule((from, to) => {
      const [upper, lower] = [layerOf(from), layerOf(to)]
      return upper !== lower && !importsOfLayer[upper]?.includes(lower)
    }),
    planted: planted(
      'api/graphql/types/tools.ts',
      '../../../store/db/connect.ts',
      'api/graphql/types/tools.ts -> store/db/connect.ts',
    ),
  },
  {
    name: 'a module of the domain imports only modules below it',
    violations: importRule((from, to) => {
      const [upper, lower] = [moduleOf(from), moduleOf(to)]
      return upper !== null && lower !== null && modules.indexOf(lower) > modules.indexOf(upper)
    }),
    planted: planted(
      'domain/tools/run.ts',
      '../agents/index.ts',
      'domain/tools/run.ts -> domain/agents/index.ts',
    ),
  },
  {
    name: 'every folder of the domain is one of the known modules',
    violations: (sources) =>
      [...new Set(sources.map(({ path }) => moduleOf(path)))].filter(
        (name): name is string => name !== null && !modules.includes(name),
      ),
    planted: { sources: [{ path: 'domain/billing/index.ts', text: '' }], found: ['billing'] },
  },
  {
    name: 'a module of the domain is imported only through its index.ts',
    violations: importRule((from, to) => {
      const name = moduleOf(to)
      return name !== null && name !== moduleOf(from) && to !== `domain/${name}/index.ts`
    }),
    planted: planted(
      'app.ts',
      './domain/access/principals/keys.ts',
      'app.ts -> domain/access/principals/keys.ts',
    ),
  },
  {
    name: 'the files beside the folders import the API layer only through its entry points',
    violations: importRule(
      (from, to) => layerOf(from) === 'app' && layerOf(to) === 'api' && !apiEntryPoints.includes(to),
    ),
    planted: planted('servers.ts', './api/mcp/http/guard.ts', 'servers.ts -> api/mcp/http/guard.ts'),
  },
  {
    name: 'the APIs do not import each other; api/http is below them all',
    violations: importRule(
      (from, to) =>
        apiOf(from) !== null && apiOf(to) !== null && apiOf(from) !== apiOf(to) && apiOf(to) !== 'http',
    ),
    planted: {
      sources: [
        { path: 'api/mcp/http/errors.ts', text: "import type { X } from '../../graphql/builder/errors.ts'" },
        { path: 'api/http/server.ts', text: "import type { X } from '../mcp/handler.ts'" },
        { path: 'api/protocols/rest/route.ts', text: "import type { X } from '../../http/bodies.ts'" },
      ],
      found: [
        'api/mcp/http/errors.ts -> api/graphql/builder/errors.ts',
        'api/http/server.ts -> api/mcp/handler.ts',
      ],
    },
  },
  {
    name: 'protocols do not import each other, but for segments, which imports none of them',
    violations: importRule((from, to) => {
      const [one, other] = [folderIn('api/protocols', from), folderIn('api/protocols', to)]
      return one !== null && other !== null && one !== other && other !== 'segments'
    }),
    planted: {
      sources: [
        { path: 'api/protocols/segments/follow.ts', text: "import type { X } from '../responses/items.ts'" },
        { path: 'api/protocols/responses/items.ts', text: "import type { X } from '../segments/follow.ts'" },
      ],
      found: ['api/protocols/segments/follow.ts -> api/protocols/responses/items.ts'],
    },
  },
  {
    name: 'the folders of graphql and mcp keep their order',
    violations: importRule((from, to) =>
      Object.entries(apiFolders).some(([api, order]) => {
        const [upper, lower] = [folderIn(`api/${api}`, from), folderIn(`api/${api}`, to)]
        return upper !== null && lower !== null && order.indexOf(lower) > order.indexOf(upper)
      }),
    ),
    planted: {
      sources: [
        { path: 'api/graphql/builder/refs.ts', text: "import type { X } from '../types/tools.ts'" },
        { path: 'api/mcp/delivery/tasks.ts', text: "import type { X } from '../agent/tools-list.ts'" },
        { path: 'api/mcp/agent/tools-list.ts', text: "import type { X } from '../http/errors.ts'" },
      ],
      found: [
        'api/graphql/builder/refs.ts -> api/graphql/types/tools.ts',
        'api/mcp/delivery/tasks.ts -> api/mcp/agent/tools-list.ts',
      ],
    },
  },
  {
    name: 'the folders of generations keep their order',
    violations: importRule((from, to) =>
      breaksGenerationOrder(generationFolderOf(from), generationFolderOf(to)),
    ),
    planted: {
      sources: [
        { path: 'domain/generations/step/request.ts', text: "import { run } from '../loop/run-loop.ts'" },
        { path: 'domain/generations/misplaced/a.ts', text: "import { b } from '../nesting/b.ts'" },
      ],
      found: [
        'domain/generations/step/request.ts -> domain/generations/loop/run-loop.ts',
        'domain/generations/misplaced/a.ts -> domain/generations/nesting/b.ts',
      ],
    },
  },
  {
    name: 'the folders of the store keep their order; rates and blobs import db only',
    violations: importRule((from, to) => {
      const [upper, lower] = [storeFolderOf(from), storeFolderOf(to)]
      if (upper === null || lower === null || upper === lower || lower === 'db') return false
      return storeFolders.indexOf(lower) < 0 || storeFolders.indexOf(lower) > storeFolders.indexOf(upper)
    }),
    planted: {
      sources: [
        { path: 'store/db/migrate.ts', text: "import { openLog } from '../events/log.ts'" },
        { path: 'store/work/worker.ts', text: "import { startBroadcaster } from '../events/broadcaster.ts'" },
        { path: 'store/rates/shared-buckets.ts', text: "import { hints } from '../pubsub/pubsub.ts'" },
        { path: 'store/events/broadcaster.ts', text: "import { poll } from '../work/schedule.ts'" },
      ],
      found: [
        'store/db/migrate.ts -> store/events/log.ts',
        'store/work/worker.ts -> store/events/broadcaster.ts',
        'store/rates/shared-buckets.ts -> store/pubsub/pubsub.ts',
      ],
    },
  },
  {
    name: 'no file imports itself through others, not even for types',
    violations: circles,
    planted: {
      sources: [
        { path: 'core/a.ts', text: "import type { B } from './b.ts'" },
        { path: 'core/b.ts', text: "const c = await import('./c.ts')" },
        { path: 'core/c.ts', text: "export { a } from './a.ts'" },
      ],
      found: ['core/a.ts -> core/b.ts -> core/c.ts -> core/a.ts'],
    },
  },
  {
    name: 'a package is imported only where it belongs',
    violations: (sources) =>
      sources.flatMap(({ path, text }) =>
        specifiers(text)
          .filter((name) => packageHomes.some(([what, where]) => what.test(name) && !where.test(path)))
          .map((name) => `${path} -> ${name}`),
      ),
    planted: planted('domain/tools/run.ts', 'undici', 'domain/tools/run.ts -> undici'),
  },
  {
    name: 'time limits are joined with other signals by withinTime: AbortSignal.any forgets them in Node 20',
    violations: (sources) =>
      sources
        .filter(({ text }) => /AbortSignal\.any\(/.test(text) && /AbortSignal\.timeout\(/.test(text))
        .map(({ path }) => path),
    planted: {
      sources: [
        {
          path: 'core/a.ts',
          text: 'fetch(url, { signal: AbortSignal.any([gone, AbortSignal.timeout(5)]) })',
        },
        { path: 'core/b.ts', text: 'fetch(url, { signal: AbortSignal.timeout(5) })' },
      ],
      found: ['core/a.ts'],
    },
  },
  {
    name: 'a large package that most servers never use is not loaded at the start',
    violations: (sources) =>
      sources.flatMap(({ path, text }) =>
        staticSpecifiers(text)
          .filter((name) => lazyPackages.test(name))
          .map((name) => `${path} -> ${name}`),
      ),
    planted: {
      sources: [
        {
          path: 'api/graphql/transport/page.ts',
          text: "import type { Plugin } from 'graphql-yoga'\nimport { renderGraphiQL } from '@graphql-yoga/render-graphiql'",
        },
        { path: 'domain/models.ts', text: "  const { createOpenAI } = await import('@ai-sdk/openai')" },
      ],
      found: ['api/graphql/transport/page.ts -> @graphql-yoga/render-graphiql'],
    },
  },
  {
    name: 'only config.ts reads the environment',
    violations: (sources) =>
      sources
        .filter(({ path, text }) => path !== 'config.ts' && text.includes('process.env'))
        .map(({ path }) => path),
    planted: { sources: [{ path: 'app.ts', text: 'process.env.HOME' }], found: ['app.ts'] },
  },
  {
    name: 'only domain/events writes to the event log, so that every event has the data of its kind',
    violations: importRule(
      (from, to) =>
        ['store/events/log.ts', 'store/events/log.ts'].includes(to) &&
        layerOf(from) !== 'store' &&
        moduleOf(from) !== 'events',
    ),
    planted: planted(
      'domain/calls/store.ts',
      '../../store/events/log.ts',
      'domain/calls/store.ts -> store/events/log.ts',
    ),
  },
  {
    name: 'no file name says only that it holds the rest',
    violations: (sources) =>
      sources
        .map(({ path }) => path)
        .filter((path) =>
          // `types` of GraphQL are a thing of the API.
          /(^|[/-])(utils?|helpers?|common|misc|managers?|services?|impl|types)(\.|-|\/)/.test(
            path.replace('api/graphql/types/', 'api/graphql/'),
          ),
        ),
    planted: { sources: [{ path: 'core/json-utils.ts', text: '' }], found: ['core/json-utils.ts'] },
  },
  ...fileRules,
  ...statementRules,
]
