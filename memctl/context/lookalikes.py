"""Characters that look like the letters of the fence's tag.

From Unicode's table of confusables (UTS #39, confusables.txt), and by name: `LATIN SMALL LETTER L WITH STROKE`. In the
form after NFKD and case folding, without characters that these turn into ASCII.
"""

from __future__ import annotations

from collections.abc import Mapping

_LIKE = {
    "l": "1i|ıłƚǀȴɨɩɪɫɬɭʟιіӏ۱ᎥᏞᒪᛁᣳᴌᵻᵼᶅᶖ∣⍳⍸⏽│ⱡⲓⳑⵏꓡꓲꙇꝉꞎꬷꬸꬹ𐊊𐌉𐌠𐑃𐔦𑣃𑣒𖼖𖼨𝈪𝼄𝼑𝼓𝼚🅘🅛🅸🅻🇮🇱",
    "o": "0øɵθοσоѳөօ۵०০੦૦ଠ୦௦౦೦ഠ൦๐໐တဝ၀ჿዐᎤᎾᏫᴏᴑ⊖⊝⍬ⱺⲟⴱⵁⵔ〇ꓳꝋꝍꬽꬾ𐊒𐊫𐐬𐓪𐔖𑓐𑣈𑣕𑣗𑣠𝈚𝼛🅞🅾🇴🜔",
    "n": "ƞȵɲɳɴηνոռᵰᶇⲛꓠꞑꞥꬻ𐆎𐔓🅝🅽🇳",
    "g": "ƍǥɠɡɢʛԍցᏀᏳᵹᶃꓖꞡꬶ🅖🅶🇬",
    # including y: one character looks like both
    "t": "ŧƫƭȶʈτтҭᎢᴛᵵ₮⊤⍡⟙ⱦⲧꓔꞇ𐊗𐊱𐌕𑣜𖼊𝼉🅣🆃🇹🝨y¥ƴɏɣʏγυуүұყᎩᎽᶌỿⲩꓬꭚ𐊲𑣄𖽃🅨🆈🇾",
    "e": "ɇεеҽҿᎬᴇᶒ℮⋿ⱸⴹꓰꬲꬴ𐊆𑣆𑣎🅔🅴🇪",
    "r": "®ɍɼɽɾʀгғᎡᎱᏒᖇᣴᴦᵲᵳᶉⲅꓣꞃꞧꭆꭇꭈꭉꭋꭌ𐓜𖼵𝈖𝼖🅡🆁🇷",
    "m": "ɱμϻмӎᎷᗰᛖᴍᵯᶆⲙꓟꬺꭑ𐊰𐌑🅜🅼🇲",
}
LOOKALIKES: Mapping[str, str] = {each: letter for letter, many in _LIKE.items() for each in many}
"""Character → letter."""
