/** The rules of the dashboard's structure: who may import whom, and what no file of it may use. house.test.ts applies them. */
import { exactJson } from './client-rules.ts'
import { circles, importsOf, type Rule, type Source } from './structure-rules.ts'

/** The folders of web/src, lowest first; files beside them import all. */
const order = ['texts', 'api', 'parts', 'shell', 'screens']

const folderOf = (path: string) => (path.includes('/') ? path.split('/')[0]! : null)
const screenOf = (path: string) => (path.startsWith('screens/') ? path.split('/')[1]! : null)

const importRule = (isViolation: (from: string, to: string) => boolean) => (sources: readonly Source[]) =>
  sources.flatMap((source) =>
    importsOf(source)
      .filter((to) => isViolation(source.path, to))
      .map((to) => `${source.path} -> ${to}`),
  )

const textRule = (pattern: RegExp, excepted: RegExp | null) => (sources: readonly Source[]) =>
  sources.filter(({ path, text }) => !excepted?.test(path) && pattern.test(text)).map(({ path }) => path)

const file = (path: string, text: string) => [{ path, text }]

/** What the page has of others, by its path from web/src. */
const foreign = [exactJson, 'client/server-sent-events.ts'].map((path) => `../../${path}`)

export const webRules: readonly Rule[] = [
  {
    name: 'imports go down: screens, shell, parts, api, texts',
    violations: importRule((from, to) => {
      const [upper, lower] = [folderOf(from), folderOf(to)]
      return upper !== null && lower !== null && order.indexOf(lower) > order.indexOf(upper)
    }),
    planted: {
      sources: file('parts/list.tsx', "import { X } from '../screens/inbox/inbox.tsx'"),
      found: ['parts/list.tsx -> screens/inbox/inbox.tsx'],
    },
  },
  {
    name: 'a screen imports no other screen',
    violations: importRule((from, to) => {
      const [one, other] = [screenOf(from), screenOf(to)]
      return one !== null && other !== null && one !== other
    }),
    planted: {
      sources: file('screens/runs/run.tsx', "import { X } from '../inbox/inbox.tsx'"),
      found: ['screens/runs/run.tsx -> screens/inbox/inbox.tsx'],
    },
  },
  {
    name: 'no file of web imports itself through others, not even for types',
    violations: circles,
    planted: {
      sources: [
        { path: 'parts/a.ts', text: "import type { B } from './b.ts'" },
        { path: 'parts/b.ts', text: "import { a } from './a.ts'" },
      ],
      found: ['parts/a.ts -> parts/b.ts -> parts/a.ts'],
    },
  },
  {
    name: 'nothing outside of web is imported by its path but how JSON and streams of events are read',
    violations: importRule((_from, to) => to.startsWith('..') && !foreign.includes(to)),
    planted: {
      sources: file('api/client.ts', "import { X } from '../../../src/core/errors.ts'"),
      found: ['api/client.ts -> ../../src/core/errors.ts'],
    },
  },
  {
    name: 'only api fetches and opens sockets',
    violations: textRule(/\bfetch\(|\bnew (?:WebSocket|EventSource|XMLHttpRequest)\b|sendBeacon/, /^api\//),
    planted: { sources: file('parts/x.ts', "void fetch('/graphql')"), found: ['parts/x.ts'] },
  },
  {
    name: 'no HTML is made of strings, nothing is evaluated and nothing is stored in the browser',
    violations: textRule(
      /dangerouslySetInnerHTML|\.(?:inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|new Function\b|localStorage|sessionStorage|indexedDB/,
      null,
    ),
    planted: { sources: file('parts/x.ts', 'node.innerHTML = text'), found: ['parts/x.ts'] },
  },
]
