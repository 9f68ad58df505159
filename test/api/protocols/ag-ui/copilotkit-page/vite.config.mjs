/** Serves the page. Requests to the agent get the key on their way, so that no browser has it. */
const target = process.env.GATEHOUSE_URL ?? 'http://127.0.0.1:4000'
const headers = { authorization: `Bearer ${process.env.GATEHOUSE_KEY}` }

export default {
  server: { host: '127.0.0.1', proxy: { '/copilotkit': { target, changeOrigin: true, headers } } },
}
