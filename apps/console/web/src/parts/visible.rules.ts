const JOINED = 'Arabic Syriac Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala'.split(
  ' ',
);
/** Within emoji: forms, keycaps, joiners, tags of a flag. Within words: joiners of scripts that need them, variants of Chinese characters. */
const MEANT = [
  String.raw`\p{Extended_Pictographic}[\ufe0e\ufe0f]|[0-9#*]\ufe0f(?=\u20e3)`,
  String.raw`\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?\u200d(?=\p{Extended_Pictographic})`,
  String.raw`\u{1f3f4}[\u{e0020}-\u{e007f}]{1,16}|\p{Script=Han}[\u{e0100}-\u{e01ef}]`,
  String.raw`[${JOINED.map((script) => `\\p{Script=${script}}`).join('')}][\u200c\u200d](?=[\p{L}\p{M}])`,
].join('|');
const INVISIBLE = String.raw`[\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]`;
/** Characters that are invisible, or turn the direction of the text beside them; not line ends and tabs. */
const HIDDEN = new RegExp(String.raw`${INVISIBLE}(?<!${MEANT})|[^\P{Cc}\t\n\r]`, 'gu');

/** The text with escapes, as JSON has them, in place of hidden characters: it reads as what it is. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    [...Array(character.length).keys()]
      .map((unit) => String.raw`\u` + character.charCodeAt(unit).toString(16).padStart(4, '0'))
      .join(''),
  );
}
