/** Serves the page, with the key of its project behind one path and a key of another project behind a second one. */
const { GATEHOUSE_URL: target, GATEHOUSE_KEY: own, FOREIGN_KEY: foreign } = process.env
const proxied = (key) => ({
  target,
  changeOrigin: true,
  headers: { authorization: `Bearer ${key}` },
  rewrite: (path) => path.replace(/^\/foreign/, ''),
})

export default {
  server: {
    host: '127.0.0.1',
    proxy: { '/copilotkit': proxied(own), '/foreign/copilotkit': proxied(foreign) },
  },
}
