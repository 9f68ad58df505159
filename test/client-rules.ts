/** The rules of client and cli: the client is a package of its own, and the command line uses nothing else of ours. */
import { importsOf, type Rule, type Source } from './structure-rules.ts'

/** Imports by name: packages and modules of Node. */
const packagesOf = ({ text }: Source) =>
  [...text.matchAll(/(?:from\s+|import\s*\(\s*|import\s+)'([^'.][^']*)'/g)].map((match) => match[1]!)

const isOf = (part: string) => (source: Source) => source.path.startsWith(`${part}/`)

const rule = (part: string, faultsOf: (source: Source) => string[]) => (sources: readonly Source[]) =>
  sources.filter(isOf(part)).flatMap((source) => faultsOf(source).map((what) => `${source.path} -> ${what}`))

const circles = (sources: readonly Source[]): string[] => {
  const next = new Map(sources.map((source) => [source.path, importsOf(source)]))
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    (next.get(from) ?? []).some((one) => {
      if (one === to) return true
      if (seen.has(one)) return false
      seen.add(one)
      return reaches(one, to, seen)
    })
  return [...next.keys()].filter((path) => reaches(path, path))
}

/** It imports nothing, so that a browser may have it. */
export const exactJson = 'src/core/exact-json.ts'

export const clientRules: readonly Rule[] = [
  {
    name: 'the client imports itself, graphql-ws and how JSON is read, and nothing of Node',
    violations: rule('client', (source) => [
      ...importsOf(source).filter((to) => !to.startsWith('client/') && to !== exactJson),
      ...packagesOf(source).filter((name) => name !== 'graphql-ws/client'),
    ]),
    planted: {
      sources: [
        { path: 'client/a.ts', text: "import { x } from '../src/core/json.ts'" },
        { path: 'client/b.ts', text: "import { readFile } from 'node:fs/promises'" },
        { path: 'client/c.ts', text: "import { createClient } from 'graphql-ws/client'" },
        { path: 'client/d.ts', text: "import { readJson } from '../src/core/exact-json.ts'" },
      ],
      found: ['client/a.ts -> src/core/json.ts', 'client/b.ts -> node:fs/promises'],
    },
  },
  {
    name: 'the command line imports itself, the index of the client, and modules of Node',
    violations: rule('cli', (source) => [
      ...importsOf(source).filter((to) => !to.startsWith('cli/') && to !== 'client/index.ts'),
      ...packagesOf(source).filter((name) => !name.startsWith('node:')),
    ]),
    planted: {
      sources: [
        { path: 'cli/a.ts', text: "import { request } from '../client/request.ts'" },
        { path: 'cli/b.ts', text: "import { createApp } from '../src/app.ts'" },
        { path: 'cli/c.ts', text: "import ws from 'ws'" },
      ],
      found: ['cli/a.ts -> client/request.ts', 'cli/b.ts -> src/app.ts', 'cli/c.ts -> ws'],
    },
  },
  {
    name: 'no file of client and cli imports itself through others',
    violations: circles,
    planted: {
      sources: [
        { path: 'client/a.ts', text: "import type { B } from './b.ts'" },
        { path: 'client/b.ts', text: "export { a } from './a.ts'" },
        { path: 'client/c.ts', text: "export { a } from './a.ts'" },
      ],
      found: ['client/a.ts', 'client/b.ts'],
    },
  },
]
