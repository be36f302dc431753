import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#contracts';
import { parseChannels } from './installation.class.js';

describe('parseChannels', () => {
  it('accepts letters, digits, _ - = and Chinese characters, and the empty name', () => {
    const names = ['', 'news', 'News_1', 'a-b=c', '体育', '新闻-2026', '𠀀'];
    expect(parseChannels(names)).toEqual(names);
  });

  it.each<JsonValue>(['a b', 'a.b', 'news!', 'é', 'ニュース', '뉴스', 'a\n', ' ', '$', 7, null, ['a'], { a: 1 }])(
    'refuses %j',
    (name) => {
      expect(() => parseChannels(['news', name])).toThrow(
        expect.objectContaining({ errorName: 'INVALID_CHANNEL' }) as Error,
      );
    },
  );
});
