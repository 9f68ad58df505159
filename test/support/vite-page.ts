/** A page as a browser gets it: its folder, served by Vite with its own vite.config.mjs, in a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const vite = resolve(import.meta.dirname, '../../node_modules/vite/bin/vite.js')

export interface ServedPage {
  url: string
  /** The same page in another environment: what Vite has built serves both. Close it before this one. */
  again(env: Record<string, string>): Promise<ServedPage>
  close(): Promise<void>
}

export interface PageOptions {
  /** The whole environment of the process. */
  env: Record<string, string>
  /** Packages that the page is built with; it is copied then. Without them it finds those of its own folder. */
  packages?: string
}

/** Serves the page in the folder. Rejects with what Vite printed when it ends before it listens. */
export async function servePage(folder: string, { env, packages }: PageOptions): Promise<ServedPage> {
  const copy = packages === undefined ? null : await copyOf(folder, packages)
  const served = await serveIn(copy ?? folder, env)
  return {
    ...served,
    async close() {
      await served.close()
      if (copy) await rm(copy, { recursive: true, force: true })
    },
  }
}

async function serveIn(folder: string, env: Record<string, string>): Promise<ServedPage> {
  const child = spawn(process.execPath, [vite, '--port', '0'], { cwd: folder, env })
  const exited = once(child, 'exit')
  const url = await new Promise<string>((found, failed) => {
    let output = ''
    const hear = (chunk: Buffer) => {
      output += stripVTControlCharacters(chunk.toString())
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
      if (address) found(address)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    void exited.then(() => failed(new Error(`The page is not served: ${output}`)))
  })
  return {
    url,
    again: (other) => serveIn(folder, other),
    async close() {
      child.kill()
      await exited
    },
  }
}

/** A copy that finds the packages. Vite keeps what it has built beside them, so each copy has a folder of its own for them. */
async function copyOf(folder: string, packages: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'gatehouse-page-'))
  await cp(folder, copy, { recursive: true })
  const own = join(copy, 'node_modules')
  await mkdir(own)
  const names = (await readdir(packages)).filter((name) => !name.startsWith('.'))
  await Promise.all(names.map((name) => symlink(join(packages, name), join(own, name))))
  return copy
}
