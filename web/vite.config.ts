/** Builds the dashboard into dist/web; `vite web` serves it with a running server behind it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

/** Writes a .br and a .gz beside each file, after the bundler has put the last names into the code. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    writeBundle({ dir }) {
      for (const name of readdirSync(dir!, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(?:js|css|html|svg)$/.test(name)) continue
        const bytes = readFileSync(join(dir!, name))
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11 }
        writeFileSync(join(dir!, `${name}.br`), brotliCompressSync(bytes, { params }))
        writeFileSync(join(dir!, `${name}.gz`), gzipSync(bytes, { level: 9 }))
      }
    },
  }
}

/** What the first page is made of, below src; the files in the brackets are loaded later, with the texts of other screens. */
const firstFiles =
  /^(?:app\.tsx|(?!(?:shell\/(?:palette|saved-views)|api\/error-texts|parts\/own-login|parts\/question\/grant-fields))(?:api|parts|shell|screens\/inbox)\/.*\.tsx?)$/

/** Cuts a catalogue of texts in two: those that the first page needs, and those of the other screens. */
function catalogues(): Plugin {
  const src = join(import.meta.dirname, 'src')
  return {
    name: 'catalogues',
    enforce: 'pre',
    transform(code, id) {
      const part = /\.json\?(first|rest)$/.exec(id)?.[1]
      if (!part) return null
      const first = readdirSync(src, { recursive: true, encoding: 'utf8' })
        .filter((name) => firstFiles.test(name))
        .map((name) => readFileSync(join(src, name), 'utf8'))
        .join('')
      const own = Object.entries(JSON.parse(code) as object).filter(
        ([text]) => first.includes(text) === (part === 'first'),
      )
      const json = JSON.stringify(JSON.stringify(Object.fromEntries(own)))
      return { code: `export default JSON.parse(${json})`, map: null, moduleType: 'js' }
    },
  }
}

const server = 'http://127.0.0.1:4000'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [catalogues(), compressed()],
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: ['chrome123', 'firefox121', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      checks: { pluginTimings: false },
      output: {
        codeSplitting: {
          groups: [
            { name: 'vendor', test: /node_modules\/(?:react|react-dom|scheduler|wouter|graphql-ws)\// },
            // Many small files are slower than one, and compress worse: what most screens share is one.
            { name: 'shared', test: /web\/src\/(?:api|parts|texts)\//, minShareCount: 16 },
          ],
        },
      },
    },
  },
  server: {
    proxy: {
      // The server checks the Origin of sockets: it must be its own.
      '/graphql': { target: server, ws: true, changeOrigin: true, rewriteWsOrigin: true },
      '/api': { target: server, changeOrigin: true },
      '/session': {
        target: server,
        changeOrigin: true,
        configure: (proxy) => proxy.on('proxyReq', (request) => request.setHeader('origin', server)),
      },
    },
  },
})
