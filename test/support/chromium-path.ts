/** Where the browser of the tests is. */
import { existsSync } from 'node:fs'

/** Debian's, without what shows windows where that is there: pages take a third less of the CPU. */
const debians = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

export const chromiumPath =
  process.env['CHROMIUM_PATH'] ?? debians.find((path) => existsSync(path)) ?? debians[0]!

/** Whether there is a browser. */
export const hasChromium = existsSync(chromiumPath)
