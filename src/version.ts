/** The version of this program, as its package says it. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readJson } from './core/json.ts'

let known: string | null = null

/** Semantic version. Read once. */
export function version(): string {
  return (known ??= read())
}

/** From the nearest package.json above this file: the same from src and from dist. */
function read(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    try {
      const found = readJson(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        name: string
        version: string
      }
      if (found.name === 'gatehouse-server' && found.version) return found.version
    } catch (error) {
      if (folder === dirname(folder)) throw error
    }
  }
}
