import { DrizzleQueryError } from 'drizzle-orm'
import { expect, test } from 'vitest'
import {
  CommitUnknownError,
  isOutage,
  isRefused,
  NoConnectionError,
  sqlState,
} from '../../src/store/db/storage-error.ts'

const refused = (code: string) =>
  new DrizzleQueryError('select', [], Object.assign(new Error('no'), { code }))

test.each(
  '08000 08003 08006 08P01 40001 40P01 40003 53000 53100 53200 53300 53400 57014 57P01 57P02 57P03 57P05 58030 25006 25P03 25P04 55P03'.split(
    ' ',
  ),
)('%s is an outage', (code) => {
  for (const error of [refused(code), Object.assign(new Error('at COMMIT'), { code })]) {
    expect(isOutage(error)).toBe(true)
    expect(isRefused(error)).toBe(false)
  }
})

test.each(
  '21000 22003 22021 22P02 22P05 23502 23505 23514 25P02 42501 42703 42P01 54000 54001 54023 55000 P0001 XX000 XX001 0A000 ZZ9ZZ'.split(
    ' ',
  ),
)('%s is a fault of the statement', (code) => {
  expect(isOutage(refused(code))).toBe(false)
  expect(isRefused(refused(code))).toBe(true)
})

test('a connection that was lost is an outage, whatever its cause; so is an error of a driver without an SQLSTATE', () => {
  const cause = refused('28P01')
  for (const error of [
    new NoConnectionError('away', cause),
    new CommitUnknownError(cause),
    new DrizzleQueryError('select', [], new Error('could not write: the disk is gone')),
    refused('EROFS'),
    refused('EPIPE'),
  ]) {
    expect(isOutage(error)).toBe(true)
    expect(isRefused(error)).toBe(false)
  }
})

test('other errors are none of the database', () => {
  for (const error of [
    new TypeError('x'),
    Object.assign(new Error(), { code: 'ENOSPC' }),
    null,
    undefined,
    'x',
  ]) {
    expect(isOutage(error)).toBe(false)
    expect(isRefused(error)).toBe(false)
    expect(sqlState(error)).toBeNull()
  }
})
