/** What a search of tools finds, and in which order. */
import { expect, test } from 'vitest'
import { namesFound, searchDefinition, searchResult } from '../../../src/domain/tools/search.ts'
import type { Callable } from '../../../src/domain/tools/index.ts'
import { largeCatalog } from '../../support/large-catalog.ts'

const tool = (runtimeName: string, description: string | null = null, title: string | null = null) =>
  ({ runtimeName, name: runtimeName, action: null, title, description }) as Callable

function found(tools: Callable[], query: string, limit = 20): string[] {
  const search = searchResult(tools, { query, limit }, 'prj_1')
  if (!search.ok) throw new Error(JSON.stringify(search.issues))
  return namesFound(search.result.structuredContent)
}

const serena = [
  'find_referencing_symbols',
  'find_implementations',
  'insert_after_symbol',
  'find_file',
  'replace_symbol_body',
  'find_symbol',
  'search_for_pattern',
].map((name) => tool(name, 'Works on the symbols of code: finds a symbol, its file and its body.'))

test('the words of a name are the best match, though every description has them', () => {
  expect(found(serena, 'find symbol')[0]).toBe('find_symbol')
  expect(found(serena, 'findSymbol', 1)).toEqual(['find_symbol'])
})

test('names end their words at underscores, hyphens and capitals', () => {
  const tools = [tool('createPullRequest'), tool('create-issue'), tool('get_HTTPStatus'), tool('K8sPods')]
  expect(found(tools, 'pull request')).toEqual(['createPullRequest'])
  expect(found(tools, 'issue')).toEqual(['create-issue'])
  expect(found(tools, 'http status')).toEqual(['get_HTTPStatus'])
  expect(found(tools, 'pods')).toEqual(['K8sPods'])
})

test('plurals, beginnings of words and titles match; a short word within a longer one does not', () => {
  const tools = [tool('a1', 'Lists issues.'), tool('b1', 'Runs each mon.'), tool('c1', null, 'Screenshots')]
  expect(found(tools, 'issue')).toEqual(['a1'])
  expect(found([tool('issue_get')], 'issues')).toEqual(['issue_get'])
  expect(found(tools, 'screen')).toEqual(['c1'])
  expect(found(tools, 'money')).toEqual([])
})

test('other scripts are searched as they are written', () => {
  const tools = [tool('a1', '予定を検索します。'), tool('b1', 'Ищет заметки.'), tool('c1', 'Größe ändern')]
  expect(found(tools, '検索')).toEqual(['a1'])
  expect(found(tools, 'ЗАМЕТКИ')).toEqual(['b1'])
  expect(found(tools, 'größe')).toEqual(['c1'])
})

test('equal matches keep the order of the agent, and the same query gives the same list', () => {
  const tools = ['b_note', 'a_note', 'c_note'].map((name) => tool(name))
  expect(found(tools, 'note')).toEqual(['b_note', 'a_note', 'c_note'])
  const large = largeCatalog().map(({ name, description }) => tool(name, description))
  expect(found(large, 'create a page')).toEqual(
    found(
      large.map((one) => ({ ...one })),
      'create a page',
    ),
  )
})

test.each([
  ['take a list of all databases', 'mongodb-list-databases'],
  ['scrape this website', 'firecrawl-firecrawl_scrape'],
  ['draw a bar chart', 'antv-generate_bar_chart'],
  ['why did the build fail', 'circleci-get_build_failure_logs'],
  ['news about a topic', 'brave-brave_news_search'],
  ['edit a file on disk', 'wonderwhy-er-edit_block'],
])('of 197 real tools, "%s" has %s among its first five', (query, name) => {
  const large = largeCatalog().map((one) => tool(one.name, one.description))
  expect(found(large, query, 5)).toContain(name)
})

test('the search names the servers that it is about, at most twenty', () => {
  const many = Array.from({ length: 30 }, (_, i) => ({ ...tool(`t${i}`), name: `server${i}`, action: 'x' }))
  const { description } = searchDefinition(many, 'Then call it.')
  expect(description).toContain('There are 30, and most are not listed here, such as those of server0, ')
  expect(description).toContain('server19. Search')
})
