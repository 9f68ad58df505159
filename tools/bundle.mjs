/**
 * Makes the programs of the server and of the command line from src and cli: each is one file that says what it runs, and
 * what several need is in files beside them. To load a file for each source was a third of what a start costs.
 *
 *   node tools/bundle.mjs <root> <outDir> <packages> [source …]
 *
 * `packages`: `apart` leaves them in node_modules, where npm installs them; `within` puts them into the programs too, as tests
 * want it that start hundreds of processes. `source …`: further programs, by their paths below the root.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'vite'

const [root, outDir, packages, ...further] = process.argv.slice(2)

/** Programs, and what the command line or another process loads by its name. */
const sources = [
  'src/main.ts',
  'src/start-fault.ts',
  'src/backup.ts',
  'src/restore.ts',
  'src/local-key.ts',
  'src/rotate-key.ts',
  'src/after-restore.ts',
  'src/store/db/pglite/initialise.ts',
  'cli/main.ts',
  ...further,
].filter((source) => existsSync(join(root, source)))

const madeName = (source) => source.replace(/^src\//, '').replace(/\.ts$/, '')

await build({
  root,
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  // The embedded database finds its files beside its own.
  ssr: packages === 'within' ? { noExternal: true, external: ['@electric-sql/pglite'] } : {},
  build: {
    ssr: true,
    outDir,
    emptyOutDir: false,
    target: 'node20',
    sourcemap: packages === 'apart',
    minify: false,
    rolldownOptions: {
      input: Object.fromEntries(sources.map((source) => [madeName(source), join(root, source)])),
      output: { entryFileNames: '[name].js', chunkFileNames: 'shared-[hash].js', comments: { jsdoc: false } },
    },
  },
}).catch((error) => {
  console.error(error.message)
  process.exitCode = 1
})
