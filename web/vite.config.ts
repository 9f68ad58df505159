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

const server = 'http://127.0.0.1:4000'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [compressed()],
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
