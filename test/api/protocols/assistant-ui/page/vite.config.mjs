/** Serves the page. Requests to the agent get the key on their way, so that no browser has it. */
const target = process.env.GATEHOUSE_URL
const headers = { authorization: `Bearer ${process.env.GATEHOUSE_KEY}` }
const passed = { target, changeOrigin: true, headers }

export default {
  server: { host: '127.0.0.1', proxy: { '/api/chat': passed, '/ag-ui': passed, '/a2a': passed } },
}
